"""Webhooks: other programs are told when a run is done or has failed, and after every so many answers.

- webhook: an address of another program, with the secret that messages to it are signed with
- delivery: one message to a webhook, stored until it was taken or given up, with what came of it
- occasion: what a message is about
- courier: the task of a web process that queues messages and delivers them
"""
