"""The studio: a local page to label a little, train, look, and label where it helps."""

from multiutility.extras import require

require("vision", __name__)
require("studio", __name__)
