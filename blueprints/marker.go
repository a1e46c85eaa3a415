package blueprints

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sealLen is the length of a seal in hexadecimal digits.
const sealLen = 16

// Seal is the hash that a block's begin marker carries: the first 16
// hexadecimal digits of the SHA-256 of the lines between the markers, each
// ended by LF.
func Seal(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:sealLen]
}

// sealBPC is the other dialect's seal: the same hash without the last line end.
func sealBPC(text string) string { return Seal(strings.TrimSuffix(text, "\n")) }

// The verbs of a marker, named as ringaudit writes them.
const (
	verbBegin  = "begin"
	verbEnd    = "end"
	verbSource = "source"
)

type marker struct {
	dialect Dialect
	verb    string
	attr    map[string]string
}

var (
	markerLine = regexp.MustCompile(`^[ \t]*<!--[ \t]*(ringaudit|bpc):(.*?)(-->)?[ \t]*$`)
	// key=value or key="value"; a value in quotes may hold blanks.
	attrText = regexp.MustCompile(`^([a-z][a-z0-9_-]*)=(?:"([^"]*)"|([^\s"]+))(?:\s+|$)`)
	sealText = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// parseMarker reads a line as a marker. isMark is true for whatever begins like
// one: a marker that cannot be read is an error, never prose.
func parseMarker(line string) (m marker, isMark bool, err error) {
	f := markerLine.FindStringSubmatch(line)
	if f == nil {
		return m, false, nil
	}
	if f[1] == "bpc" {
		m.dialect = DialectBPC
	}
	if strings.HasPrefix(f[2], "not-a-claim") {
		return m, false, nil // to the citation gate, about the sentence before it
	}
	if f[3] == "" {
		return m, true, errors.New("a marker must end in --> on its own line")
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(f[2]), " ")
	m.verb = verb
	if m.dialect == DialectBPC && verb == "generated" {
		m.verb = verbBegin
	}
	if m.verb != verbBegin && m.verb != verbEnd && m.verb != verbSource {
		return m, true, fmt.Errorf("marker %q is none of begin, source, end", f[1]+":"+verb)
	}
	m.attr = map[string]string{}
	for rest = strings.TrimSpace(rest); rest != ""; {
		a := attrText.FindStringSubmatch(rest)
		if a == nil {
			return m, true, fmt.Errorf("expected key=value in a marker, found %q", shorten(rest))
		}
		if _, twice := m.attr[a[1]]; twice {
			return m, true, fmt.Errorf("a marker says %s twice", a[1])
		}
		m.attr[a[1]] = a[2] + a[3]
		rest = rest[len(a[0]):]
	}
	return m, true, nil
}

// beginBlock makes a block of a begin marker in line n.
func beginBlock(m marker, n int) (*Block, error) {
	b := &Block{Section: m.attr["section"], Begin: n}
	if !generated[b.Section] {
		return nil, fmt.Errorf("section=%q: generated blocks belong to sections 2, 5 and 7", b.Section)
	}
	key := "seal"
	if m.dialect == DialectBPC {
		key = "hash"
	}
	switch seal, ok := m.attr[key]; {
	case !ok && m.dialect == DialectRingaudit, ok && seal == "unsealed" && m.dialect == DialectBPC:
		b.Unsealed = true
	case !sealText.MatchString(seal):
		return nil, fmt.Errorf("%s=%q: expected %d hexadecimal digits", key, shorten(seal), sealLen)
	default:
		b.Seal = seal
	}
	for k := range m.attr {
		if k != "section" && k != key {
			return nil, fmt.Errorf("a begin marker knows section and %s, not %s", key, k)
		}
	}
	return b, nil
}

// Source says where a block, or a part of it, came from.
type Source struct {
	Kind   string // evidence, btf, tree, none; bpc also corpus
	Path   string // relative to the blueprint's folder, or as the kernel names it (/sys/kernel/btf/vmlinux)
	SHA256 string // of the file, or of the folder's list of files; see HashEvidence
	Kernel string // release, as uname -r prints it; for a tree its version
	Arch   string // as uname -m prints it
	// Evidence is true where the source is a real kernel or what one printed,
	// false where a person wrote it.
	Evidence bool
	Line     int // of the provenance line
}

// sourceKinds are the kinds that a provenance line may name, by dialect.
var sourceKinds = map[Dialect][]string{
	DialectRingaudit: {"evidence", "btf", "tree", "none"},
	DialectBPC:       {"btf", "corpus", "none"},
}

// marker is the provenance line of the source.
func (s Source) marker() string {
	var b strings.Builder
	b.WriteString("<!-- ringaudit:source kind=" + s.Kind)
	for _, a := range [...][2]string{{"path", s.Path}, {"sha256", s.SHA256}, {"kernel", s.Kernel}, {"arch", s.Arch}} {
		if a[1] != "" {
			b.WriteString(" " + a[0] + "=" + attrValue(a[1]))
		}
	}
	fmt.Fprintf(&b, " evidence=%t -->", s.Evidence)
	return b.String()
}

// attrValue quotes a value that needs it. What a marker cannot hold at all is
// replaced by "_": a path must not end the comment that it stands in.
func attrValue(v string) string {
	v = strings.NewReplacer(`"`, "_", "\n", "_", "\r", "_", "--", "__").Replace(v)
	if strings.ContainsAny(v, " \t") {
		return `"` + v + `"`
	}
	return v
}

// readSources reads the provenance lines at the head of a block.
func (bp *Blueprint) readSources(b *Block) (faults []Fault) {
	for i, line := range b.body {
		m, isMark, err := parseMarker(line)
		if !isMark {
			if strings.TrimSpace(line) == "" && len(b.Sources) == 0 {
				continue
			}
			break
		}
		n := b.Begin + 1 + i
		if err != nil || m.verb != verbSource {
			continue
		}
		s := Source{
			Kind: m.attr["kind"], Path: none(m.attr["path"]), SHA256: m.attr["sha256"],
			Kernel: m.attr["kernel"], Arch: none(m.attr["arch"]), Line: n,
		}
		if s.Kernel == "" {
			s.Kernel = none(m.attr["pin"]) // the other dialect's word
		}
		if !slices.Contains(sourceKinds[bp.Dialect], s.Kind) {
			faults = append(faults, Fault{Pos: bp.at(n), Rule: RuleProvenance,
				Message: fmt.Sprintf("kind=%q is none of %s", s.Kind, strings.Join(sourceKinds[bp.Dialect], ", "))})
		}
		switch e := m.attr["evidence"]; e {
		case "true":
			s.Evidence = true
		case "false", "":
		default:
			faults = append(faults, Fault{Pos: bp.at(n), Rule: RuleProvenance,
				Message: fmt.Sprintf("evidence=%q is neither true nor false", e)})
		}
		b.Sources = append(b.Sources, s)
	}
	return faults
}

// none reads the other dialect's word for an empty value.
func none(v string) string {
	if v == "none" {
		return ""
	}
	return v
}

// shorten cuts a quotation for a message.
func shorten(s string) string {
	const n = 60
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
