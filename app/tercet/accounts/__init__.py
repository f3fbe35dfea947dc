"""Users, how they sign in, and what they may do.

- user: a person with an account, or a labeler of one project without one
- account: a user with an address (or an administrator); signs in by a link, password or provider, may have API tokens
- labeler of a link: joined by a share link; recognised later by a secret in the browser's cookie
- imported labeler: a name in imported answers; nobody can sign in as them
- participant: the name that a share link or an import gives a labeler, unique in the project
- caller: the credentials of a request; identity: the user and scope they stand for; access: a user in a project
- action: what can be done in a project; role and scope say which actions are allowed
- admission: the check of who may send a body, and how large, before it is read
"""
