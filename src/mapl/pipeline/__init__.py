"""From a private table to a model that is safe to publish: plan, teachers, release, student."""
