"""Projects: their settings, members and share links.

- project: items, one question about them, and the rules by which answers become clusters
- key: the project's name in addresses
- settings: what can be changed at any time; the question's kind cannot
- member: a user with a role in the project
- archived: hidden from lists but not deleted; its share links do not work
"""
