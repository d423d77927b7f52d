"""Before any vote is read: public facts in, a calibrated mechanism out."""

from mapl.planning.choosing.choice import Choice, choose
from mapl.planning.choosing.forecast import Forecast, forecast
from mapl.planning.votes.agreement import Agreement

__all__ = ["Agreement", "Choice", "Forecast", "choose", "forecast"]
