"""Students that choose which public rows to ask about, by public rows and released labels alone."""

from mapl.students.active.inquiry import Inquiry, interview
from mapl.students.active.pool import Pool
from mapl.students.active.strategy import Active

__all__ = ["Active", "Inquiry", "Pool", "interview"]
