"""How a command is confined: what it may read, write and reach, and who makes it so.

`room` says what one command may do, `found` which means this system has (by trying them),
`spawn` starts a command in its room. The means: bubblewrap (folders, processes and network of
its own), Landlock and seccomp, applied by `inside.guard`; without bubblewrap the latter two.
"""
