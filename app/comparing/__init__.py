"""Comparing the systems on one project: asked for here, computed by workers, shown with a recommendation."""
