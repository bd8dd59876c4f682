"""Annotations: what is known about labelings, from full labelings down to tags."""

from multiutility.annotations.annotation import Annotation
from multiutility.annotations.box import Box, estimate_profiles
from multiutility.annotations.boxes import Boxes
from multiutility.annotations.expected import Expected
from multiutility.annotations.full import Full
from multiutility.annotations.joint import Joint
from multiutility.annotations.lines import LINEAR, LOOSE, UNIFORM, Profile
from multiutility.annotations.seed import Gaussian, Seed
from multiutility.annotations.seeds import Seeds
from multiutility.annotations.tags import Tags, estimate_areas

__all__ = [
    "LINEAR",
    "LOOSE",
    "UNIFORM",
    "Annotation",
    "Box",
    "Boxes",
    "Expected",
    "Full",
    "Gaussian",
    "Joint",
    "Profile",
    "Seed",
    "Seeds",
    "Tags",
    "estimate_areas",
    "estimate_profiles",
]
