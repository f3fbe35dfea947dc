"""Who may come in, and what they may do.

- user: a person with an account, or a labeler of one project without one
- account: a user with an address (or an administrator); signs in by a sign-in link, may have API tokens
- labeler of a link: came by a share link; comes back by the secret in the browser's cookie
- imported labeler: named by imported answers; nobody signs in as them
- participant: the name by which a share link or an import calls a labeler, unique in the project
- caller: the credentials of a request; identity: the user and scope they stand for; access: a user in a project
- action: what can be done in a project; role and scope say which actions are allowed
- admission: the check of who may send a body, and how large, before it is read
"""
