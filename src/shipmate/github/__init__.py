"""GitHub and GitHub Enterprise: issues and pull requests of a project's repository, in and out."""
