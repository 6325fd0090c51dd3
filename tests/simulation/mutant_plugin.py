"""A plugin of pytest that puts a mutant in place of the product, before any test is loaded."""

import os

from tests.simulation.mutate import VARIABLE, installed

MUTANTS = installed(os.environ[VARIABLE])
