"""MCP servers: started, watched, and their tools offered as ours. The official SDK speaks; what
comes from a server is read by our own lenient models, and no server can touch anything but itself.
"""
