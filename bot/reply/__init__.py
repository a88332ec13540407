"""From agent events to what a person sees: draft → split → pace → live."""
