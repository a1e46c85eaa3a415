package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/ringaudit/ringaudit/audit"
)

// configName is the configuration that is read if no other is named.
const configName = "ringaudit.toml"

// auditConfig is the [audit] table of ringaudit.toml. docs/configuration.md
// describes it.
type auditConfig struct {
	FlightRecorder []string          `toml:"flight_recorder"`
	Severity       map[string]string `toml:"severity"`
	Budget         []budgetConfig    `toml:"budget"`
	Suppress       []suppressConfig  `toml:"suppress"`
}

type budgetConfig struct {
	Buffer       string `toml:"buffer"`
	CPU          *int64 `toml:"cpu"`
	MaxLostShare share  `toml:"max_lost_share"`
}

type suppressConfig struct {
	Rule    string    `toml:"rule"`
	Buffer  string    `toml:"buffer"`
	CPU     *int64    `toml:"cpu"`
	Reason  string    `toml:"reason"`
	Expires time.Time `toml:"expires"`
}

// share is a part of a whole: "0.1 %", or a number from 0 to 1 in quotes. It is a
// text so that it is exact.
type share struct{ *big.Rat }

func (s *share) UnmarshalText(b []byte) error {
	text := strings.TrimSpace(string(b))
	number, percent := strings.CutSuffix(text, "%")
	r, ok := new(big.Rat).SetString(strings.TrimSpace(number))
	if !ok || strings.Contains(number, "/") {
		return fmt.Errorf("%q is no share; expected a percentage such as \"0.1 %%\" or a number from 0 to 1 such as \"0.001\"", text)
	}
	if percent {
		r.Quo(r, big.NewRat(100, 1))
	}
	if r.Sign() < 0 || r.Cmp(big.NewRat(1, 1)) > 0 {
		return fmt.Errorf("%q is not from 0 to 100 %%", text)
	}
	s.Rat = r
	return nil
}

// loadPolicy reads the audit's part of the configuration. Without a name,
// ringaudit.toml in the working folder is read if it is there.
func loadPolicy(name string) (*audit.Policy, error) {
	explicit := name != ""
	if !explicit {
		name = configName
	}
	data, err := os.ReadFile(name)
	if err != nil {
		if !explicit && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, usagef("--config: %v", err)
	}
	return parsePolicy(name, string(data))
}

func parsePolicy(name, data string) (*audit.Policy, error) {
	var whole struct {
		Audit     auditConfig    `toml:"audit"`
		Citations toml.Primitive `toml:"citations"` // read by cite
	}
	md, err := toml.Decode(data, &whole)
	if err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return nil, usagef("%s: %s", name, strings.TrimRight(pe.ErrorWithPosition(), "\n"))
		}
		return nil, usagef("%s: %v", name, err)
	}
	for _, key := range md.Undecoded() {
		if key[0] == "citations" {
			continue
		}
		return nil, usagef("%s:%d: unknown key %q, did you mean %q?", name, lineOfKey(data, key), key.String(), nearestKey(key))
	}
	for _, key := range md.Keys() {
		// The library matches keys without regard to case; the file's readers do not.
		if key[0] != "citations" && key.String() != strings.ToLower(key.String()) {
			return nil, usagef("%s:%d: unknown key %q: keys are written in lower case", name, lineOfKey(data, key), key.String())
		}
	}
	return whole.Audit.policy(name, data)
}

// nearestKey is the known key that is most like an unknown one.
func nearestKey(key toml.Key) string {
	known := []string{
		"audit", "audit.flight_recorder", "audit.severity", "audit.budget", "audit.budget.buffer", "audit.budget.cpu",
		"audit.budget.max_lost_share", "audit.suppress", "audit.suppress.rule", "audit.suppress.buffer", "audit.suppress.cpu",
		"audit.suppress.reason", "audit.suppress.expires", "citations",
	}
	return audit.Nearest(key.String(), known)
}

// lineOfKey finds the line of a key by its last name; 1 if it is not found.
func lineOfKey(data string, key toml.Key) int {
	last := key[len(key)-1]
	n := 0
	for line := range strings.Lines(data) {
		n++
		field := strings.TrimLeft(line, " \t[\"'")
		if strings.HasPrefix(field, last) || strings.HasPrefix(field, key.String()) {
			return n
		}
	}
	return 1
}

func (c auditConfig) policy(name, data string) (*audit.Policy, error) {
	p := &audit.Policy{FlightRecorder: c.FlightRecorder, Severities: map[string]audit.Severity{}}
	known := func(rule, where string) error {
		if audit.RuleByID(rule) == nil {
			return usagef("%s: %s names the rule %q, which there is not; did you mean %s?", name, where, rule, audit.NearestRule(rule))
		}
		return nil
	}
	for rule, s := range c.Severity {
		if err := known(rule, "audit.severity"); err != nil {
			return nil, err
		}
		switch sev := audit.Severity(s); sev {
		case audit.SeverityError, audit.SeverityWarning, audit.SeverityNote:
			p.Severities[rule] = sev
		default:
			return nil, usagef("%s: audit.severity.%s is %q; expected error, warning or note", name, rule, s)
		}
	}
	for i, b := range c.Budget {
		where := fmt.Sprintf("%s: audit.budget %d", name, i+1)
		if b.MaxLostShare.Rat == nil {
			return nil, usagef("%s has no max_lost_share", where)
		}
		cpu, err := configCPU(b.CPU, where)
		if err != nil {
			return nil, err
		}
		p.Budgets = append(p.Budgets, audit.Budget{Buffer: b.Buffer, CPU: cpu, MaxLostShare: b.MaxLostShare.Rat, Line: lineOfTable(data, "[[audit.budget]]", i)})
	}
	for i, s := range c.Suppress {
		where := fmt.Sprintf("%s: audit.suppress %d", name, i+1)
		if s.Rule == "" {
			return nil, usagef("%s names no rule", where)
		}
		if err := known(s.Rule, fmt.Sprintf("audit.suppress %d", i+1)); err != nil {
			return nil, err
		}
		if strings.TrimSpace(s.Reason) == "" {
			return nil, usagef("%s (%s) has no reason: a suppression needs one", where, s.Rule)
		}
		cpu, err := configCPU(s.CPU, where)
		if err != nil {
			return nil, err
		}
		p.Suppressions = append(p.Suppressions, audit.Suppression{Rule: s.Rule, Buffer: s.Buffer, CPU: cpu, Reason: s.Reason, Expires: s.Expires, Line: lineOfTable(data, "[[audit.suppress]]", i)})
	}
	return p, nil
}

func configCPU(n *int64, where string) (*int, error) {
	if n == nil {
		return nil, nil
	}
	if *n < 0 || *n > 1<<16 {
		return nil, usagef("%s: cpu is %d; expected a CPU number", where, *n)
	}
	cpu := int(*n)
	return &cpu, nil
}

// lineOfTable is the line of the i-th table of an array.
func lineOfTable(data, header string, i int) int {
	n := 0
	for line := range strings.Lines(data) {
		n++
		if strings.TrimSpace(line) == header {
			if i == 0 {
				return n
			}
			i--
		}
	}
	return 0
}
