package report

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// The types of SARIF 2.1.0 that ringaudit writes
// (docs.oasis-open.org/sarif/sarif/v2.1.0). GitHub shows ruleId, level, message,
// the first location and the rule's help; it tells results apart by their
// partial fingerprints.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool            `json:"tool"`
	Invocations []sarifInvocation    `json:"invocations"`
	BaseIDs     map[string]sarifBase `json:"originalUriBaseIds,omitempty"`
	ColumnKind  string               `json:"columnKind"`
	Results     []sarifResult        `json:"results"` // never null: null means that there was no scan
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"semanticVersion,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string       `json:"id"`
	ShortDescription sarifText    `json:"shortDescription"`
	FullDescription  *sarifText   `json:"fullDescription,omitempty"`
	Help             *sarifText   `json:"help,omitempty"`
	HelpURI          string       `json:"helpUri,omitempty"`
	Default          *sarifConfig `json:"defaultConfiguration,omitempty"`
}

type sarifConfig struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifInvocation struct {
	ExecutionSuccessful bool `json:"executionSuccessful"`
	ExitCode            int  `json:"exitCode"`
}

type sarifBase struct {
	Description sarifText `json:"description"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations,omitempty"`
	Related      []sarifLocation    `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string  `json:"partialFingerprints,omitempty"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type sarifLocation struct {
	ID       *int          `json:"id,omitempty"`
	Physical sarifPhysical `json:"physicalLocation"`
	Message  *sarifText    `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homeURL     = "https://github.com/ringaudit/ringaudit"
	// sarifRoot is what paths of documents are relative to.
	sarifRoot = "SRCROOT"
)

// WriteSARIF writes problems as SARIF 2.1.0. The only errors are those of w.
func WriteSARIF(w io.Writer, p *Problems) error {
	rules, index := p.used()
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "ringaudit", Version: p.Version, InformationURI: homeURL, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: p.Complete, ExitCode: p.Exit}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
		BaseIDs:     map[string]sarifBase{sarifRoot: {sarifText{Text: "The folder that ringaudit was run in."}}},
	}
	for _, r := range rules {
		x := sarifRule{ID: r.ID, ShortDescription: sarifText{Text: r.Title}, HelpURI: r.URL}
		if r.Help != "" {
			x.FullDescription = &sarifText{Text: r.Help}
			x.Help = &sarifText{Text: r.Help, Markdown: r.Help}
		}
		if r.Severity != "" {
			x.Default = &sarifConfig{Level: sarifLevel(r.Severity)}
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, x)
	}
	for _, x := range p.List {
		run.Results = append(run.Results, sarifResultOf(x, index[x.Rule], run.BaseIDs))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifResultOf(x Problem, rule int, bases map[string]sarifBase) sarifResult {
	r := sarifResult{RuleID: x.Rule, RuleIndex: rule, Level: sarifLevel(x.Severity), Message: sarifText{Text: x.Message}}
	if x.Action != "" {
		r.Message.Text += "\n" + x.Action
	}
	if x.Path != "" {
		r.Locations = []sarifLocation{{Physical: sarifPhysical{
			Artifact: sarifArtifact{URI: sarifURI(x.Path), BaseID: sarifRoot}, Region: sarifRegionOf(x.Line, x.Col)}}}
	}
	for i, q := range x.Related {
		base := q.Base
		if base == "" {
			base = sarifRoot
		} else if _, ok := bases[base]; !ok {
			bases[base] = sarifBase{sarifText{Text: "The top folder of " + q.Base + "."}}
		}
		id := i + 1
		loc := sarifLocation{ID: &id, Physical: sarifPhysical{Artifact: sarifArtifact{URI: sarifURI(q.Path), BaseID: base}, Region: sarifRegionOf(q.Line, q.Col)}}
		text := q.Message
		if q.URL != "" {
			text = strings.TrimSpace(text + " " + q.URL)
		}
		if text != "" {
			loc.Message = &sarifText{Text: text}
		}
		r.Related = append(r.Related, loc)
	}
	if x.Fingerprint != "" {
		r.Fingerprints = map[string]string{"ringaudit/v1": x.Fingerprint}
	}
	if x.Suppressed != "" {
		r.Suppressions = []sarifSuppression{{Kind: "external", Justification: x.Suppressed}}
	}
	return r
}

// sarifLevel is one of the levels that there are: anything else would make the
// whole file invalid.
func sarifLevel(severity string) string {
	switch severity {
	case "error", "warning", "note":
		return severity
	}
	return "none"
}

// sarifURI is a relative URI reference.
func sarifURI(p string) string {
	u := (&url.URL{Path: relativePath(p)}).String()
	return strings.TrimPrefix(u, "./")
}

func sarifRegionOf(line, col int) *sarifRegion {
	if line <= 0 {
		return nil
	}
	return &sarifRegion{StartLine: line, StartColumn: max(col, 0)}
}
