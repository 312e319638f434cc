"""Whether the tests notice a change: what each test reaches, and what becomes of small defects planted in the code.

    reached     what each test runs: a pytest plugin of `make coverage`, and the lookup by line and by statement
    coverage    the table of `make coverage`
    operators   the defects: changes of Python by syntax tree, changes of named SQL statements
    judge       one mutant: a private copy of the tree, the tests that reach the change, the limits
    __main__    `make mutants`: the sample, the workers, the table

mutmut and cosmic-ray do not serve: neither changes SQL or takes the tests of a line from a parallel run, mutmut changes
function bodies only, cosmic-ray changes the working tree.
"""
