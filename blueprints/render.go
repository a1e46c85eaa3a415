package blueprints

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/ringaudit/ringaudit/report"
)

//go:embed web
var web embed.FS

var (
	templates = template.Must(template.ParseFS(web, "web/*.gohtml"))
	styleText = template.CSS(report.BaseCSS() + mustRead("web/style.css"))
)

func mustRead(name string) string {
	b, err := web.ReadFile(name)
	if err != nil {
		panic(err) // embedded, so only a build without it can get here
	}
	return string(b)
}

// RenderOptions says how pages are made. The zero value makes a page without
// links into kernel source.
type RenderOptions struct {
	// Cited is what is known of the citations, by blueprint name.
	Cited map[string]*Cited
	// Pages are the names of the blueprints that are rendered together, so that
	// links between them lead from page to page.
	Pages []string
	// SourceURL is where the blueprints' folder can be looked at, such as
	// https://example.org/repo/blueprints; links to other files go there. Empty:
	// such links are left out, since one page holds all that it needs.
	SourceURL string
}

// page is what the template shows.
type page struct {
	Title, Name, Status, Summary, Reviewer string
	Versions                               []string
	Style                                  template.CSS
	Body                                   template.HTML
	Contents                               []contentsEntry
	Records                                []recordView
	Varies                                 []recordView
	CitedVersions                          []string
	Blocks                                 int
	Index                                  bool // there is an index beside it
}

// SummaryHTML is the summary with code between backquotes as code.
func (p page) SummaryHTML() template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(p.Summary, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

type contentsEntry struct {
	ID, Number, Title string
}

// recordView is a record with the places that cite it.
type recordView struct {
	CitedRecord
	Anchor string // of its entry in the page
	Uses   []useView
}

// useView is a place in the page that cites a record.
type useView struct {
	Anchor  string
	Section string
	Nth     int // within the page, from 1
}

// Render makes a page of a blueprint: one HTML file that needs nothing else and
// asks no network for anything. Raw HTML in the text is left out.
func Render(bp *Blueprint, opt RenderOptions) ([]byte, error) {
	cited := opt.Cited[bp.Front.Name]
	body, contents, uses, err := bp.body(opt, cited)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bp.File, err)
	}
	p := page{
		Title: bp.Front.Title, Name: bp.Front.Name, Status: bp.Front.Status, Summary: bp.Front.Summary,
		Reviewer: bp.Front.Reviewer, Versions: bp.Front.Versions, Style: styleText, Body: body,
		Contents: contents, Blocks: len(bp.Blocks), Index: len(opt.Pages) > 0,
	}
	if cited != nil {
		p.CitedVersions = cited.Versions
		for _, r := range cited.Records {
			v := recordView{CitedRecord: r, Anchor: r.Short, Uses: uses[r.ID]}
			p.Records = append(p.Records, v)
			if r.Varies {
				p.Varies = append(p.Varies, v)
			}
		}
	}
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "page.gohtml", p); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// RenderIndex makes the page that lists blueprints.
func RenderIndex(bps []*Blueprint, opt RenderOptions) ([]byte, error) {
	type card struct {
		page
		References, Assertions int
	}
	var cards []card
	for _, bp := range bps {
		c := card{page: page{Title: bp.Front.Title, Name: bp.Front.Name, Status: bp.Front.Status, Summary: bp.Front.Summary,
			Versions: bp.Front.Versions, Blocks: len(bp.Blocks)}}
		if cited := opt.Cited[bp.Front.Name]; cited != nil {
			for _, r := range cited.Records {
				if r.Kind == "reference" {
					c.References++
				} else {
					c.Assertions++
				}
			}
		}
		cards = append(cards, c)
	}
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, "index.gohtml", struct {
		Style template.CSS
		Cards []card
	}{styleText, cards})
	return out.Bytes(), err
}

// markdown is the text of the document without its header.
func (bp *Blueprint) markdown() []byte {
	first := 0
	if f := strings.TrimRight(bp.Line(1), " \t"); f == "+++" || f == "---" {
		for n := 2; n <= len(bp.lines); n++ {
			if strings.TrimRight(bp.Line(n), " \t") == f {
				first = n
				break
			}
		}
	}
	return []byte(strings.Join(bp.lines[first:], "\n") + "\n")
}

// body renders the text and finds what the page's lists need.
func (bp *Blueprint) body(opt RenderOptions, cited *Cited) (template.HTML, []contentsEntry, map[string][]useView, error) {
	src := bp.markdown()
	r := &nodeRenderer{bp: bp, opt: opt, cited: cited}
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithBlockParsers(util.Prioritized(markerParser{}, 50)),
			parser.WithInlineParsers(util.Prioritized(citationParser{}, 50)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(r, 50))),
	)
	doc := md.Parser().Parse(text.NewReader(src))
	contents, uses := bp.arrange(doc, src)
	r.uses = uses
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, src, doc); err != nil {
		return "", nil, nil, err
	}
	// What goldmark writes without its unsafe option is escaped text and the
	// renderers below.
	return template.HTML(out.String()), contents, uses, nil
}

// arrange takes the title out of the text (the page has it at its head), gives
// the sections their names, and counts what is cited where.
func (bp *Blueprint) arrange(doc ast.Node, src []byte) (contents []contentsEntry, uses map[string][]useView) {
	uses = map[string][]useView{}
	pattern := ownHeading
	if bp.Dialect == DialectBPC {
		pattern = bpcHeading
	}
	section := ""
	level := 1 // of the last heading outside generated blocks
	if h, ok := doc.FirstChild().(*ast.Heading); ok && h.Level == 1 {
		doc.RemoveChild(doc, h)
	}
	ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if g := n.Parent(); g.Kind() == kindGenerated {
				// A block's headings go one below that of the text it stands in.
				n.Level = min(n.Level-topLevel(g)+level+1, 6)
			} else {
				level = n.Level
			}
			title := strings.TrimSpace(string(plainText(n, src)))
			if m := pattern.FindStringSubmatch(strings.Repeat("#", n.Level) + " " + title); m != nil && n.Level <= 3 {
				section = m[2]
				n.SetAttributeString("id", []byte("section-"+m[2]))
				if len(m[2]) == 1 {
					contents = append(contents, contentsEntry{ID: "section-" + m[2], Number: m[2], Title: m[3]})
				}
			} else if id, ok := n.AttributeString("id"); ok {
				// Names of their own must not clash with those that the page gives.
				n.SetAttributeString("id", append([]byte("h-"), id.([]byte)...))
			}
		case *citationNode:
			u := useView{Anchor: fmt.Sprintf("c-%s-%d", n.short, len(uses[n.id])+1), Section: section, Nth: len(uses[n.id]) + 1}
			n.n = len(uses[n.id])
			uses[n.id] = append(uses[n.id], u)
		}
		return ast.WalkContinue, nil
	})
	return contents, uses
}

// topLevel is the highest level of the headings in a block, as its text has it.
func topLevel(block ast.Node) int {
	g := block.(*generatedNode)
	if g.top == 0 {
		g.top = 6
		for c := block.FirstChild(); c != nil; c = c.NextSibling() {
			if h, ok := c.(*ast.Heading); ok {
				g.top = min(g.top, h.Level)
			}
		}
	}
	return g.top
}

// plainText is the text of a node without its marks.
func plainText(n ast.Node, src []byte) []byte {
	var b []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch t := c.(type) {
		case *ast.Text:
			b = append(b, t.Segment.Value(src)...)
			if t.SoftLineBreak() {
				b = append(b, ' ')
			}
		case *ast.String:
			b = append(b, t.Value...)
		default:
			b = append(b, plainText(c, src)...)
		}
	}
	return b
}

// link is where a link of the text leads from the page; ok is false for one
// that the page cannot keep.
func (r *nodeRenderer) link(dest string) (_ string, ok bool) {
	if strings.HasPrefix(dest, "#") {
		return dest, true
	}
	low := strings.ToLower(dest)
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if strings.HasPrefix(low, scheme) {
			return dest, true
		}
	}
	if strings.Contains(strings.SplitN(dest, "/", 2)[0], ":") || strings.HasPrefix(dest, "/") {
		return "", false
	}
	file, frag, _ := strings.Cut(dest, "#")
	if name, isPage := strings.CutSuffix(file, ".md"); isPage && slices.Contains(r.opt.Pages, name) {
		if frag != "" {
			frag = "#" + frag
		}
		return name + ".html" + frag, true
	}
	if r.opt.SourceURL == "" {
		return "", false
	}
	return strings.TrimSuffix(r.opt.SourceURL, "/") + "/" + path.Clean(dest), true
}
