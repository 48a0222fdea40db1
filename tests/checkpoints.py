"""Managers that write checkpoints more often than after 2,000 records."""


def checkpointing(manager, every):
    """The manager, whose session has a checkpoint every so many records; as it is where nothing is stored."""
    if manager._session.logbook is not None:
        manager._session.logbook.checkpoint_every = every
    return manager
