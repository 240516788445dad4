package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// papersFolder has a page of results for each paper. Blocks of a page are made from the results of its experiments.
const papersFolder = "docs/papers"

// resultsBlock is the part of a page that has the results of one experiment: its name, columns of measures for a table,
// and the text between the markers.
var resultsBlock = regexp.MustCompile(`(?s)<!-- results: ([\w-]+/[\w-]+)(?: columns=(\S+))? -->\n(.*?)<!-- end -->`)

// papersCommand writes the results of the full catalogue into the pages of papers. It runs each experiment of a page
// with this work tree's program unless its results are there. With -from it takes finished results only, which
// `weir run NAME --out FOLDER/NAME` wrote, and leaves other blocks as they are. With -quick it runs quick variants, for
// the blocks that have no results in full.
func papersCommand(root string, args []string) error {
	flags := flag.NewFlagSet("papers [PATTERN]", flag.ContinueOnError)
	from := flags.String("from", "", "take the results and the program weir from this folder, and run no experiment")
	quick := flags.Bool("quick", false, "run quick variants, only for blocks without results in full")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 {
		return errors.New("usage: ci papers [-from FOLDER] [-quick] [PATTERN]; PATTERN is a regular expression of names")
	}
	pattern, err := regexp.Compile(flags.Arg(0))
	if err != nil {
		return err
	}
	var here program
	if *from != "" {
		folder, err := filepath.Abs(*from)
		if err != nil {
			return err
		}
		here = program{filepath.Join(folder, "weir"), folder}
	} else if here, err = buildHere(root); err != nil {
		return err
	}
	says, err := readClaimTexts(root)
	if err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(papersFolder), "*.md"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		if err := (paperResults{here, *from != "", *quick, says}).updatePage(page, pattern); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return nil
}

// paperResults is the source of the results of pages.
type paperResults struct {
	program
	finished bool                // take finished results only
	quick    bool                // take quick variants, only for blocks without results in full
	says     map[claimKey]string // texts of claims, for results with older texts
}

// updatePage rewrites the blocks of a page that match pattern by their experiments' names. The page is written after
// each experiment, so that an interrupted command keeps the earlier blocks.
func (p paperResults) updatePage(page string, pattern *regexp.Regexp) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text := string(data)
	for _, block := range resultsBlock.FindAllStringSubmatch(text, -1) {
		name, columns := block[1], block[2]
		if !pattern.MatchString(name) || p.quick && block[3] != "" && !quickResults.MatchString(block[3]) {
			continue
		}
		variant := "full"
		if p.quick {
			variant = "quick"
		}
		out := filepath.Join(p.folder, variant, filepath.FromSlash(name))
		if p.finished {
			out = filepath.Join(p.folder, filepath.FromSlash(name))
			if _, err := os.Stat(filepath.Join(out, "finished")); errors.Is(err, os.ErrNotExist) {
				fmt.Printf("%s: no finished results\n", name)
				continue
			}
		}
		o, err := p.readFolder(name, out, !p.quick)
		if err != nil {
			return err
		}
		for i := range o.Claims {
			if text, ok := p.says[claimKey{name, o.Claims[i].ID}]; ok {
				o.Claims[i].Says = text
			}
		}
		body, err := p.describeResults(name, out, columns, o)
		if err != nil {
			return err
		}
		open, _, _ := strings.Cut(block[0], "\n")
		text = strings.Replace(text, block[0], open+"\n"+body+"<!-- end -->", 1)
		if err := os.WriteFile(page, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// quickResults matches the text of a block that has the results of a quick variant.
var quickResults = regexp.MustCompile("^\n`weir run [^`]* --quick`")

// claimKey identifies a claim. Experiments of two papers may have claims with the same id.
type claimKey struct{ experiment, id string }

// readClaimTexts returns the texts of the claims in the papers' experiments.
func readClaimTexts(root string) (map[claimKey]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "papers", "*", "experiments", "*.yaml"))
	if err != nil {
		return nil, err
	}
	says := map[claimKey]string{}
	for _, file := range files {
		paper := filepath.Base(filepath.Dir(filepath.Dir(file)))
		name := paper + "/" + strings.TrimSuffix(filepath.Base(file), ".yaml")
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var experiment struct{ Expect []struct{ ID, Says string } }
		if err := yaml.Unmarshal(data, &experiment); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, c := range experiment.Expect {
			says[claimKey{name, c.ID}] = strings.Join(strings.Fields(c.Says), " ")
		}
	}
	return says, nil
}

// describeResults returns a block's text for the experiment name with its results o below out: the commit and the day
// of the results, the claims with their verdicts, and, with columns, a table of measures as weir run prints it.
func (p paperResults) describeResults(name, out, columns string, o *outcomeFile) (string, error) {
	version, day, err := originOf(out)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	command := []string{"run", name}
	if p.quick {
		command = append(command, "--quick")
	}
	fmt.Fprintf(&b, "\n`weir %s`, %s, %s: %d runs.%s\n\n", strings.Join(command, " "), version, day, len(o.Runs),
		o.countVerdicts())
	if len(o.Claims) > 0 {
		b.WriteString("| verdict | claim | measured |\n|---|---|---|\n")
	}
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`)
	for _, c := range o.Claims {
		fmt.Fprintf(&b, "| %s | `%s`: %s | %s |\n", c.Verdict, c.ID, cell.Replace(c.Says), cell.Replace(c.Measured))
	}
	if len(o.Claims) > 0 {
		b.WriteString("\n")
	}
	if columns != "" {
		text, err := exec.Command(p.binary, append(command, "--out", out, "--columns", columns)...).Output()
		if err != nil {
			return "", fmt.Errorf("%s: weir run --columns %s: %w", name, columns, err)
		}
		for _, line := range printedTables(string(text)) {
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// countVerdicts returns the number of claims and how many have each verdict, as a sentence on a line of its own; ""
// without claims.
func (o *outcomeFile) countVerdicts() string {
	if len(o.Claims) == 0 {
		return ""
	}
	counts := map[string]int{}
	for _, c := range o.Claims {
		counts[c.Verdict]++
	}
	var parts []string
	for _, verdict := range sortedKeys(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", verdict, counts[verdict]))
	}
	return fmt.Sprintf("\nClaims: %d (%s).", len(o.Claims), strings.Join(parts, ", "))
}

// originOf returns the version of the program that made the results below out, such as "commit 0123456789ab", and the
// day on which they were finished, in UTC.
func originOf(out string) (version, day string, err error) {
	var origin struct{ Version string }
	if err := readResult(out, "origin.json", &origin); err != nil {
		return "", "", err
	}
	files, _ := filepath.Glob(filepath.Join(out, "*", "runs.json"))
	info, err := os.Stat(files[0])
	if err != nil {
		return "", "", err
	}
	return origin.Version, info.ModTime().UTC().Format(time.DateOnly), nil
}

// tableEnd matches the first line after the tables that weir run prints: an explanation of a value or of a column, or
// the number of runs by the reason for their end.
var tableEnd = regexp.MustCompile(`^(?:[a-z]\w*(?: \S+)?|\d+ runs?): `)

// printedTables returns the lines of the tables that weir run prints, without blank lines around them.
func printedTables(text string) []string {
	lines := strings.Split(text, "\n")
	begin := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "at all points: ") })
	lines = lines[begin+1:]
	if end := slices.IndexFunc(lines, tableEnd.MatchString); end >= 0 {
		lines = lines[:end]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// maxPaperDoc is the maximum number of lines of a paper's package documentation.
const maxPaperDoc = 150

// checkPapers compares the pages with the experiments of the papers and their claims. Each experiment has one block,
// and a block that has been filled has the claims of papers/verdicts.txt. The papers' package documentation is limited,
// too.
func checkPapers(root string, files []string) error {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(verdictsFile)))
	if err != nil {
		return err
	}
	verdicts, err := parseVerdicts(string(data))
	if err != nil {
		return err
	}
	claims := map[string][]string{}
	for _, v := range verdicts {
		claims[v.experiment] = append(claims[v.experiment], v.claim)
	}
	blocks := map[string]int{}
	var wrong []string
	for _, page := range files {
		if filepath.ToSlash(filepath.Dir(page)) != papersFolder {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			return err
		}
		paper := strings.TrimSuffix(filepath.Base(page), ".md")
		for _, block := range resultsBlock.FindAllStringSubmatch(string(data), -1) {
			name := block[1]
			blocks[name]++
			if !strings.HasPrefix(name, paper+"/") {
				wrong = append(wrong, fmt.Sprintf("%s: %s belongs to another page", page, name))
			}
			if has := claimsOfBlock(block[3]); block[3] != "" && !slices.Equal(has, claims[name]) {
				wrong = append(wrong, fmt.Sprintf("%s: %s has the claims %q, and %s has %q; run .ci/papers '^%s$'", page, name,
					has, verdictsFile, claims[name], name))
			}
		}
		experiments, err := filepath.Glob(filepath.Join(root, "papers", paper, "experiments", "*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range experiments {
			name := paper + "/" + strings.TrimSuffix(filepath.Base(file), ".yaml")
			if blocks[name] != 1 {
				wrong = append(wrong, fmt.Sprintf("%s: %s has %d blocks; it needs one: <!-- results: %s --> and <!-- end -->", page,
					name, blocks[name], name))
			}
			delete(blocks, name)
		}
		doc, err := os.ReadFile(filepath.Join(root, "papers", paper, "doc.go"))
		if err != nil {
			return err
		}
		if n := strings.Count(string(doc), "\n"); n > maxPaperDoc {
			wrong = append(wrong, fmt.Sprintf("papers/%s/doc.go: %d lines; allowed: at most %d; results belong in %s", paper, n,
				maxPaperDoc, page))
		}
	}
	for _, name := range sortedKeys(blocks) {
		wrong = append(wrong, fmt.Sprintf("%s: no experiment has this name", name))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// claimsOfBlock returns the claims that a block's table names, in its order.
func claimsOfBlock(text string) (ids []string) {
	for _, m := range regexp.MustCompile("(?m)^\\| \\w+ \\| `([^`]+)`: ").FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}
