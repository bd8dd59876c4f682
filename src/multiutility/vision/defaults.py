"""Defaults of learning, which the command line shows without loading what learns."""

# Weight of errors on training images, for losses in shares of the image and features of norm 1.
C = 1.0
# Where all images are weakly annotated, C = 0.3 was the best of 0.3 and 1: alpha makes it that.
ALPHA = 0.3
# That of the paper.
BETA = 1.0
# How far the losses of rare classes are raised: 0 if all pixels weigh the same, 1 if all classes do.
CLASS_WEIGHT = 0.25
# Relative duality gap and outer iterations, of which expected losses seldom take more than three.
TOL = 0.1
MAX_ITER = 10
