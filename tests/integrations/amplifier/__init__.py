"""Context modules inside the real Amplifier kernel, with a provider, tools and loops that it loads as modules.

scripts.py     what the model will do: turns, steps, and a way to make many of them
tools.py       tools with results of any size, the same for the same arguments
provider.py    a model with a hard window and a judge that looks at every request
kernel.py      sessions of the kernel itself, with a loop and a provider that do nothing
fakes.py       a loop and a provider that hold a context module to what the newest ones ask for
suites.py      amplifier-core's own checks, run without its plugin
harness.py     our own module, mounted by itself
scenarios.py   sessions and histories at which context modules of today fail
hosts/         our module in the real hosts
"""
