"""Defaults of learning, which the command line shows without loading what learns."""

# Weight of errors on training images, for losses in shares of the image and features of norm 1.
C = 3.0
# Those of the paper.
ALPHA = 0.1
BETA = 1.0
# Relative duality gap, outer iterations: by cross-validation, less effort costs accuracy, more gains nothing.
TOL = 0.2
MAX_ITER = 10
