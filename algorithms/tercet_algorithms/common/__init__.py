"""What several families of estimators share; it builds upon `answers`, never the other way.

- state: all that a fit needs to go on, between two callbacks; it travels as plain arrays
- feature space, feature map: standardised columns and a kernel's features
- map: two coordinates per item for an analyst, steady from run to run
- match: to number clusters so that they keep their numbers from run to run
- loop: one in C, compiled when Tercet is installed
"""
