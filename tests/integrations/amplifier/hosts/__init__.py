"""Our context module inside Amplifier's real hosts: foundation, its command line, its loops, its tools and its hooks.

The hosts are used from their folders, which lie in `shared/hosts` next to the checkout; without them all is skipped.
Each journey runs in a process of its own that ends by `os._exit`: amplifier-core 2.0.2 aborts now and then at the
interpreter's exit, with any context module.

running.py    where the hosts are; runs a journey in a process and hands its report to the tests
inside.py     what that process does
bundles.py    bundles of the hosts' modules, as hosts prepare them
stage.py      the scripted model as a module, a witness of all that the context is given, and what became of it
modules/      the two module folders that a bundle names: the scripted model and its tools
commands.py   Amplifier's command line: its single run, and its interactive prompt with keys that are typed
journeys/     what is done in a host, one file for each part of the hosts
"""
