"""Before any vote is read: public facts in, a calibrated mechanism out."""

from mapl.planning.agreement import Agreement
from mapl.planning.choice import Choice, choose
from mapl.planning.forecast import Forecast, forecast

__all__ = ["Agreement", "Choice", "Forecast", "choose", "forecast"]
