"""Every public number on fixed seeds; a change that moves one must renew the record and say why."""
