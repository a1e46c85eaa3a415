package blueprints

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// FrontMatter is the header of a blueprint.
type FrontMatter struct {
	Title    string `toml:"title"`
	Name     string `toml:"name"`     // the file's name without .md
	Status   string `toml:"status"`   // stub, partial or complete
	Reviewer string `toml:"reviewer"` // a person; needed for complete
	// Versions are the kernel versions that the text speaks of ("6.12.117").
	Versions []string `toml:"versions"`
	// Evidence are paths, relative to the blueprint's folder, of what section 5
	// is generated from: one block each, in this order.
	Evidence []string `toml:"evidence"`
	// BTF are paths, relative to the blueprint's folder, of the BTF files that
	// sections 2 and 7 are generated from, one column each, in this order.
	// --btf replaces them.
	BTF        []string `toml:"btf"`
	Structures []string `toml:"structures"` // of section 2, in this order
	Functions  []string `toml:"functions"`  // of section 7, in this order
	Summary    string   `toml:"summary"`    // one or two sentences, for the index
	// Arch and Pin are the other dialect's architecture and version; empty in ours.
	Arch string `toml:"-"`
	Pin  string `toml:"-"`

	lines map[string]int // line of each key, and of "key=item" for list items
}

// Line is the line of a key, or of a list's item if item is not empty; 1 if
// neither stands in the header.
func (f FrontMatter) Line(key, item string) int {
	if n := f.lines[key+"="+item]; item != "" && n > 0 {
		return n
	}
	return max(f.lines[key], 1)
}

var statuses = []string{"stub", "partial", "complete"}

var frontKeys = []string{"title", "name", "status", "reviewer", "versions", "evidence", "btf", "structures", "functions", "summary"}

// parseFront reads the header and returns the line after it.
func (bp *Blueprint) parseFront() (faults []Fault, body int) {
	fail := func(line int, hint, format string, args ...any) {
		faults = append(faults, Fault{Pos: bp.at(line), Rule: RuleFrontMatter, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	bp.Front.lines = map[string]int{}
	fenceText := strings.TrimRight(bp.Line(1), " \t")
	if fenceText != "+++" && fenceText != "---" {
		fail(1, "ringaudit blueprint new NAME writes a whole one", "expected a header between +++ lines, found %q", shorten(bp.Line(1)))
		return faults, 1
	}
	if fenceText == "---" {
		bp.Dialect = DialectBPC
	}
	end := 0
	for n := 2; n <= len(bp.lines); n++ {
		if strings.TrimRight(bp.Line(n), " \t") == fenceText {
			end = n
			break
		}
	}
	if end == 0 {
		fail(1, "", "the header that begins here has no closing %s", fenceText)
		return faults, 2
	}
	if bp.Dialect == DialectBPC {
		bp.readBPCFront(end)
		return faults, end + 1
	}

	head := strings.Join(bp.lines[1:end-1], "\n") + "\n"
	meta, err := toml.Decode(head, &bp.Front)
	if err != nil {
		line := 1
		var pe toml.ParseError
		if errors.As(err, &pe) {
			line = pe.Position.Line
			err = errors.New(pe.Message)
		}
		fail(line+1, "", "%s", strings.TrimPrefix(err.Error(), "toml: "))
		return faults, end + 1
	}
	bp.frontLines(end)
	for _, k := range meta.Undecoded() {
		fail(bp.Front.Line(k.String(), ""), "known: "+strings.Join(frontKeys, ", "), "unknown key %q", k.String())
	}
	for _, k := range meta.Keys() {
		// toml matches keys without regard to case; a header that only works by
		// that is a header that the next reader misreads.
		if s := k.String(); !slices.Contains(frontKeys, s) && slices.Contains(frontKeys, strings.ToLower(s)) {
			fail(bp.Front.Line(s, ""), "", "write the key %q in lower case", s)
		}
	}
	return faults, end + 1
}

var (
	tomlKey  = regexp.MustCompile(`^[ \t]*"?([A-Za-z0-9_-]+)"?[ \t]*=`)
	tomlItem = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'([^']*)'`)
)

// frontLines notes where each key and each item of a list stands.
func (bp *Blueprint) frontLines(end int) {
	key := ""
	for n := 2; n < end; n++ {
		line := bp.Line(n)
		if m := tomlKey.FindStringSubmatch(line); m != nil {
			key = m[1]
			if bp.Front.lines[key] == 0 {
				bp.Front.lines[key] = n
			}
			line = line[len(m[0]):]
		}
		for _, m := range tomlItem.FindAllStringSubmatch(line, -1) {
			if k := key + "=" + m[1] + m[2]; bp.Front.lines[k] == 0 {
				bp.Front.lines[k] = n
			}
		}
	}
}

// readBPCFront reads the other dialect's header: key: value, lists in brackets
// or as "- item" lines.
func (bp *Blueprint) readBPCFront(end int) {
	values := map[string][]string{}
	key := ""
	for n := 2; n < end; n++ {
		text := strings.TrimSpace(bp.Line(n))
		if item, ok := strings.CutPrefix(text, "- "); ok && key != "" {
			item = strings.Trim(strings.TrimSpace(item), "`")
			values[key] = append(values[key], item)
			bp.Front.lines[key+"="+item] = n
			continue
		}
		k, v, ok := strings.Cut(text, ":")
		if !ok || text[0] == '#' {
			continue
		}
		key = strings.TrimSpace(k)
		bp.Front.lines[key] = n
		v, _, _ = strings.Cut(v, " #")
		v = strings.TrimSpace(v)
		if inner, ok := strings.CutPrefix(v, "["); ok {
			values[key] = []string{}
			for item := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
				if item = strings.Trim(strings.TrimSpace(item), "`"); item != "" {
					values[key] = append(values[key], item)
				}
			}
		} else if v != "" {
			values[key] = []string{v}
		}
	}
	one := func(k string) string { return strings.Join(values[k], ", ") }
	bp.Front.Title, bp.Front.Name, bp.Front.Status = one("title"), one("blueprint"), one("status")
	bp.Front.Reviewer, bp.Front.Pin, bp.Front.Arch = one("reviewed-by"), one("pin"), one("arch")
	bp.Front.Evidence, bp.Front.Structures, bp.Front.Functions = values["artefacts"], values["structures"], values["interfaces"]
	if bp.Front.Pin != "" {
		bp.Front.Versions = []string{strings.TrimPrefix(bp.Front.Pin, "v")}
	}
	for _, k := range [...][2]string{{"blueprint", "name"}, {"reviewed-by", "reviewer"}, {"artefacts", "evidence"}, {"interfaces", "functions"}} {
		if n := bp.Front.lines[k[0]]; n > 0 {
			bp.Front.lines[k[1]] = n
		}
	}
}
