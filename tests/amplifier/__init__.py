"""Context modules inside the real Amplifier kernel, with a provider, tools and loops that it loads as modules.

scripts.py     what the model will do: turns, steps, and a way to make many of them
tools.py       tools with results of any size, the same for the same arguments
provider.py    a model with a hard window and a judge that looks at every request
loops.py       two orchestrators: the contract of today and the one of 1.x
world.py       installs modules, runs a session, and says how it went
suites.py      amplifier-core's own checks, run without its plugin
ours.py        our own module: in a session, or mounted by itself
naive.py       a context module that sends everything
scenarios.py   sessions and histories at which context modules of today fail
"""
