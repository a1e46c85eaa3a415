package audit

import (
	"fmt"
	"math/big"
	"time"
)

// Severity ranks findings.
type Severity string

// The severities. An error is loss or a contradiction, or evidence that one
// cannot be excluded where it was asked for; a warning may mislead a reader; a
// note explains.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// rank orders severities, the worst first.
func (s Severity) rank() int {
	switch s {
	case SeverityError:
		return 0
	case SeverityWarning:
		return 1
	}
	return 2
}

// Policy is what a project has decided about its findings (ringaudit.toml).
type Policy struct {
	Budgets      []Budget
	Severities   map[string]Severity // by rule
	Suppressions []Suppression
	// FlightRecorder names buffers in which overwriting is intended; "*" is all.
	FlightRecorder []string
}

// Budget is a share of loss that is accepted: findings of the kernel's loss within
// it are notes. The share is of what was attempted at least (written + dropped +
// commit overrun + uncounted). What a recorder or a reading lost on top of that,
// and what probes missed, no budget accepts.
type Budget struct {
	Buffer string // empty: any
	CPU    *int   // nil: the buffer as a whole
	// MaxLostShare is the accepted share, 0 to 1.
	MaxLostShare *big.Rat
	// Line is where the budget stands in the configuration.
	Line int
}

// Suppression silences findings that are known and accepted.
type Suppression struct {
	Rule    string
	Buffer  string // empty: any
	CPU     *int   // nil: any
	Reason  string // required
	Expires time.Time
	Line    int
}

// expired tells whether the suppression is no longer valid today: the day that it
// expires on is its last.
func (s Suppression) expired(today time.Time) bool {
	if s.Expires.IsZero() || today.IsZero() {
		return false
	}
	const day = "2006-01-02"
	return today.Format(day) > s.Expires.Format(day)
}

func (s Suppression) covers(f Finding) bool {
	return s.Rule == f.Rule &&
		(s.Buffer == "" || s.Buffer == f.Buffer) &&
		(s.CPU == nil || f.CPU != nil && *f.CPU == *s.CPU)
}

// within tells whether lost of attempted is surely within the share.
func (b Budget) within(lost, attempted Count) bool {
	if lost.Open {
		return false
	}
	if lost.Hi == 0 {
		return true
	}
	if attempted.Lo == 0 || b.MaxLostShare == nil {
		return false
	}
	share := new(big.Rat).SetFrac(new(big.Int).SetUint64(lost.Hi), new(big.Int).SetUint64(attempted.Lo))
	return share.Cmp(b.MaxLostShare) <= 0
}

func (b Budget) String() string {
	s := "max_lost_share"
	if b.MaxLostShare != nil {
		s += " " + b.MaxLostShare.FloatString(6)
	}
	if b.Buffer != "" {
		s += " of buffer " + b.Buffer
	}
	if b.CPU != nil {
		s += fmt.Sprintf(" of cpu %d", *b.CPU)
	}
	return s
}
