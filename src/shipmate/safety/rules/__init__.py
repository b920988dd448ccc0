"""The user's rules: what is denied, asked or allowed without being judged call by call."""
