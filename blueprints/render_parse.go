package blueprints

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// The nodes that a blueprint has beside those of Markdown.
var (
	kindGenerated  = ast.NewNodeKind("GeneratedBlock")
	kindProvenance = ast.NewNodeKind("Provenance")
	kindCitation   = ast.NewNodeKind("Citation")
)

// generatedNode is a generated block; what stands in it are its children.
type generatedNode struct {
	ast.BaseBlock
	section string
	seal    string
	top     int // highest heading level in it; 0: not looked up
}

func (n *generatedNode) Kind() ast.NodeKind { return kindGenerated }
func (n *generatedNode) Dump(src []byte, level int) {
	ast.DumpHelper(n, src, level, map[string]string{"section": n.section}, nil)
}

// provenanceNode is a line that says where a block came from.
type provenanceNode struct {
	ast.BaseBlock
	source Source
}

func (n *provenanceNode) Kind() ast.NodeKind { return kindProvenance }
func (n *provenanceNode) Dump(src []byte, level int) {
	ast.DumpHelper(n, src, level, map[string]string{"path": n.source.Path}, nil)
}

// markerParser reads the markers as blocks of their own, before goldmark takes
// them for raw HTML and leaves them out.
type markerParser struct{}

func (markerParser) Trigger() []byte { return []byte{'<'} }

func (markerParser) Open(parent ast.Node, r text.Reader, _ parser.Context) (ast.Node, parser.State) {
	line, seg := r.PeekLine()
	m, isMark, err := parseMarker(strings.TrimRight(string(line), "\r\n"))
	if !isMark || err != nil {
		return nil, parser.NoChildren
	}
	switch m.verb {
	case verbBegin:
		if parent.Kind() != ast.KindDocument {
			return nil, parser.NoChildren
		}
		r.Advance(seg.Len() - trailing(line))
		seal := m.attr["seal"]
		if m.dialect == DialectBPC {
			seal = m.attr["hash"]
		}
		return &generatedNode{section: m.attr["section"], seal: seal}, parser.HasChildren
	case verbSource:
		r.Advance(seg.Len() - trailing(line))
		kernel := m.attr["kernel"]
		if kernel == "" {
			kernel = none(m.attr["pin"])
		}
		return &provenanceNode{source: Source{
			Kind: m.attr["kind"], Path: none(m.attr["path"]), SHA256: m.attr["sha256"],
			Kernel: kernel, Arch: none(m.attr["arch"]), Evidence: m.attr["evidence"] == "true",
		}}, parser.NoChildren
	}
	return nil, parser.NoChildren
}

// trailing is how many bytes of a line are its end, which goldmark advances
// over by itself.
func trailing(line []byte) int {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		return 1
	}
	return 0
}

func (markerParser) Continue(node ast.Node, r text.Reader, _ parser.Context) parser.State {
	if node.Kind() != kindGenerated {
		return parser.Close
	}
	line, seg := r.PeekLine()
	m, isMark, err := parseMarker(strings.TrimRight(string(line), "\r\n"))
	if isMark && err == nil && m.verb == verbEnd {
		r.Advance(seg.Len() - trailing(line))
		return parser.Close
	}
	return parser.Continue | parser.HasChildren
}

func (markerParser) Close(ast.Node, text.Reader, parser.Context) {}
func (markerParser) CanInterruptParagraph() bool                 { return true }
func (markerParser) CanAcceptIndentedLine() bool                 { return false }

// citationNode is a marker of a reference or an assertion.
type citationNode struct {
	ast.BaseInline
	id, short string
	n         int // how many times it was cited before, plus one
}

func (n *citationNode) Kind() ast.NodeKind { return kindCitation }
func (n *citationNode) Dump(src []byte, level int) {
	ast.DumpHelper(n, src, level, map[string]string{"id": n.id}, nil)
}

var citationText = regexp.MustCompile(`^\[([A-Za-z0-9][A-Za-z0-9_.-]*)-([RA][0-9]+)\]`)

// citationParser reads [NAME-R12] before goldmark takes it for a link.
type citationParser struct{}

func (citationParser) Trigger() []byte { return []byte{'['} }

func (citationParser) Parse(_ ast.Node, r text.Reader, _ parser.Context) ast.Node {
	line, _ := r.PeekLine()
	m := citationText.FindSubmatch(line)
	if m == nil {
		return nil
	}
	if rest := line[len(m[0]):]; len(rest) > 0 && (rest[0] == '(' || rest[0] == '[') {
		return nil
	}
	r.Advance(len(m[0]))
	return &citationNode{id: string(m[1]) + "-" + string(m[2]), short: string(m[2])}
}
