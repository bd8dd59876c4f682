"""What generated scenes are painted with: noise, light, stuff, things and a canvas."""
