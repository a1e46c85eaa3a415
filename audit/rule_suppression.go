package audit

var ruleSuppression = &Rule{
	ID: "suppression", Group: GroupPolicy, Severity: SeverityNote,
	Title:  "A suppression that has no effect",
	Text:   `ringaudit.toml suppresses a finding that does not occur, or did so until a day that has passed. Suppressions are for known findings with a reason; one without effect hides the next finding of its kind.`,
	Remedy: `remove it, or give it a new expiry with a reason`,
}
