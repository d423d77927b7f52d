"""What can go wrong, in words that say what was given, what is allowed and what to do.

No message ever quotes a row, a vote, a margin or anything else computed from private data.
"""


class MaplError(Exception):
    """Base of every error that mapl raises on purpose."""


class InvalidParameter(MaplError, ValueError):
    """A setting is out of its range or does not fit the other settings."""


class InvalidData(MaplError, ValueError):
    """A file or array does not have the declared form."""


class CannotCalibrate(MaplError):
    """No parameters reach the asked guarantee within the asked budget."""


class BudgetExhausted(MaplError):
    """The plan's limits are used up; nothing more will be released."""


class GuaranteeBroken(MaplError):
    """Going on would void the privacy promise, so mapl refuses."""


class EntropyFailure(GuaranteeBroken):
    """The operating system's random generator failed; no noise, hence no release."""


class PrivacyWarning(UserWarning):
    """What is asked for is allowed, and costs people more privacy than one might think."""


class ServiceError(MaplError):
    """A server refused a call or could not be reached."""


class LedgerError(MaplError):
    """The record of what was spent cannot be written or read; without it nothing is released."""


class LedgerTampered(LedgerError):
    """The record's hash chain is broken: an entry was changed, removed or rolled back."""


class LedgerRolledBack(LedgerTampered):
    """The record was put back to an earlier state: entries that were seen before are missing."""


class PlanMismatch(LedgerError):
    """The record belongs to another plan."""
