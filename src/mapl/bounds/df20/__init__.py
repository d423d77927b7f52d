"""Dwork and Feldman (2018), Dagan and Feldman (2020), theorem by theorem."""
