"""The configuration file: schema, loading, reload. Produces `engine.domain.settings.Settings`; no rule of failover is in here."""
