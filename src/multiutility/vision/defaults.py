"""Defaults of learning, which the command line shows without loading what learns."""

# Weight of errors on training images, for losses in shares of the image and features of norm 1.
C = 1.0
# That of the paper.
BETA = 1.0
# Relative duality gap and outer iterations, of which expected losses seldom take more than three.
TOL = 0.1
MAX_ITER = 10
