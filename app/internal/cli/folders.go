package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/core/unit"
	"weir/internal/atomicfile"
	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/revision"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
)

// listMatches returns the results that match an experiment's name, the best first: results of the current experiment,
// then of the simulator, then the newest. Without results of that name, folders match by their names. An empty list is
// not an error.
func (f *folders) listMatches(a *app, name string) ([]*results.FolderInfo, error) {
	all, err := results.ListFolders(string(f.Out))
	if err != nil {
		return nil, err
	}
	meant := name
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		meant = strings.TrimSuffix(filepath.Base(name), ext)
	}
	found := slices.DeleteFunc(slices.Clone(all), func(s *results.FolderInfo) bool { return s.Name != meant })
	if len(found) == 0 {
		found = slices.DeleteFunc(all, func(s *results.FolderInfo) bool { return !s.Matches(meant) })
	}
	if len(found) < 2 {
		return found, nil
	}
	hash := ""
	if src, err := a.registry.OpenExperiment(name); err == nil {
		if s, err := plan.Load(a.registry, src, experiment.Options{}); err == nil {
			hash = s.Hash()
		}
	}
	rank := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(x, y *results.FolderInfo) int { // they are sorted by time
		return cmp.Or(rank(x.Hash == hash)-rank(y.Hash == hash),
			rank(x.World == experiment.Sim)-rank(y.World == experiment.Sim))
	})
	return found, nil
}

// choose returns the folder of the best results for a name. It prints a notice if there are others, and returns an
// error if no results match.
func (f *folders) choose(a *app, name string) (string, error) {
	found, err := f.listMatches(a, name)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", f.noResults(a, name)
	}
	if len(found) > 1 {
		fmt.Fprintf(a.stderr, "notice: %d results folders match %s; using %s%s. weir results list %s lists all; name a "+
			"folder to choose another\n",
			len(found), text.EscapeLine(name), found[0].Dir, withOptions(found[0]), quoteWord(name))
	}
	return found[0].Dir, nil
}

// withOptions returns the options of a folder's results in parentheses, or "".
func withOptions(s *results.FolderInfo) string {
	if s.Options == "" {
		return ""
	}
	return " (" + s.Options + ")"
}

// noResults returns the error for a name without results, with up to fewNames similar names.
func (f *folders) noResults(a *app, name string) error {
	all, err := results.ListFolders(string(f.Out))
	if err != nil {
		return err
	}
	near := ""
	if names := namesOf(all); len(names) > 0 {
		near = "; results exist of " + document.JoinLikely(name, names, fewNames)
	}
	if _, err := a.registry.OpenExperiment(name); err != nil {
		return fmt.Errorf("%s is not a results folder%s. Read as an experiment: %w", name, near, err)
	}
	return fmt.Errorf("%w: %s has no results in %s/; run the experiment, or name a results folder%s",
		command.ErrInput, name,
		filepath.Base(string(f.Out)), near)
}

// fewNames limits the similar names in a message.
const fewNames = 5

// namesOf returns the sorted names of the experiments with results.
func namesOf(all []*results.FolderInfo) (names []string) {
	for _, s := range all {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

type listResultsCmd struct {
	Name string         `arg:"" optional:"" help:"${resultsFind}"`
	Out  command.Target `default:"results" help:"Folder that contains the results folders."`
	JSON bool           `name:"json" help:"Print one JSON document instead of a table."`
}

// Run prints the results folders that match the name, or all if it is empty. A folder without results is not an error.
func (l *listResultsCmd) Run(a *app) error {
	all, err := results.ListFolders(string(l.Out))
	if err != nil {
		return err
	}
	listed := slices.DeleteFunc(slices.Clone(all), func(s *results.FolderInfo) bool {
		return l.Name != "" && !s.Matches(strings.TrimSuffix(strings.TrimSuffix(l.Name, ".yaml"), ".yml"))
	})
	if l.JSON {
		return a.printFoldersJSON(listed)
	}
	if len(listed) == 0 {
		near := ""
		if names := namesOf(all); l.Name != "" && len(names) > 0 {
			near = " of " + text.EscapeLine(l.Name) + "; results exist of " + document.JoinLikely(l.Name, names, fewNames)
		}
		fmt.Fprintf(a.stdout, "no results in %s%s\n", text.EscapeLine(string(l.Out)), near)
		return nil
	}
	for _, s := range listed {
		a.printFolder(s)
	}
	return nil
}

// printFolder prints the description of a results folder and its path, in four lines or more.
func (a *app) printFolder(s *results.FolderInfo) {
	head := text.EscapeLine(s.Name)
	if s.World == experiment.Lab {
		head += " in the lab"
	}
	if s.Options != "" {
		head += " " + s.Options
	}
	state := text.Count(s.Runs, "run")
	switch {
	case s.Wrong != "":
		state = "unreadable: " + s.Wrong
	case s.Unfinished:
		state = "unfinished"
	case s.DescribeVerdicts() != "":
		state += ", claims: " + s.DescribeVerdicts()
	}
	own := ""
	if s.Program == revision.This().String() {
		own = " (this program)"
	}
	when := "at an unknown time"
	if !s.When.IsZero() {
		when = s.When.Local().Format("2006-01-02 15:04")
	}
	fmt.Fprintf(a.stdout, "%s\n", report.WrapText(head, a.lineWidth(), "    "))
	fmt.Fprintf(a.stdout, "    %s\n", report.WrapText(fmt.Sprintf("%s, %s", when, state), a.lineWidth()-4, "    "))
	by := cmp.Or(s.Version, "an unknown version")
	fmt.Fprintf(a.stdout, "    by %s%s\n    %s\n", by, own, s.Dir)
}

// printFoldersJSON prints the list of folders as one document.
func (a *app) printFoldersJSON(all []*results.FolderInfo) error {
	type entry struct {
		Dir        string         `json:"dir"`
		Experiment string         `json:"experiment"`
		World      string         `json:"world"`
		Finished   time.Time      `json:"finished,omitzero"`
		Version    string         `json:"version"`
		Program    string         `json:"program"`
		Options    string         `json:"options"`
		Runs       int            `json:"runs"`
		Verdicts   map[string]int `json:"verdicts"`
		Begun      bool           `json:"begun,omitempty"`
		Wrong      string         `json:"wrong,omitempty"`
	}
	list := []entry{}
	for _, s := range all {
		e := entry{s.Dir, s.Name, s.World, s.When.UTC(), s.Version, s.Program, s.Options, s.Runs, map[string]int{},
			s.Unfinished,
			s.Wrong}
		for v, n := range s.Verdicts { //weir:unordered
			e.Verdicts[string(v)] = n
		}
		list = append(list, e)
	}
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(list)
}

// findAll returns the folders of the names, in their order without duplicates. The first name without results is an
// error.
func (f *folders) findAll(a *app, names []string) (dirs []string, err error) {
	for _, name := range names {
		dir, err := f.findFolder(a, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

type removeCmd struct {
	folders
	Names []string `arg:"" name:"name" help:"Results folders, or unique prefixes of their names."`
	Yes   bool     `help:"Remove without asking."`
}

// Run removes the folders one after the other. Without --yes it asks on standard output before each. A name that
// matches several is an error before anything is removed. It keeps files that weir did not write.
func (r *removeCmd) Run(a *app) error {
	var dirs []string
	for _, name := range r.Names {
		dir, err := r.findOnly(a, name)
		if err != nil {
			return err
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	answers := bufio.NewReader(os.Stdin)
	for _, dir := range dirs {
		if !r.Yes {
			a.printFolder(results.InspectFolder(dir))
			fmt.Fprint(a.stdout, "Remove this folder? [y/N] ")
			line, err := answers.ReadString('\n')
			if line = strings.ToLower(strings.TrimSpace(line)); err != nil {
				fmt.Fprintln(a.stdout)
			}
			if line != "y" && line != "yes" {
				fmt.Fprintf(a.stdout, "%s is kept\n", dir)
				if err != nil && line == "" {
					return fmt.Errorf("%w: no answer on standard input; --yes removes without asking", command.ErrInput)
				}
				continue
			}
		}
		x, err := results.RemoveFolder(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s: %s removed, %s\n", dir, text.Count(x.Files, "file"), report.FormatBytes(x.Bytes))
		if len(x.Kept) > 0 {
			fmt.Fprintf(a.stdout, "the folder is kept, because it contains other files: %s\n",
				text.EscapeLine(document.JoinChoices(x.Kept)))
		}
	}
	return nil
}

// findOnly returns the absolute path of the only folder that a name matches. It returns an error if several or no
// folders match, and unless a named folder has the mark of results.
func (r *removeCmd) findOnly(a *app, name string) (string, error) {
	if info, err := os.Lstat(name); err == nil && (info.IsDir() || info.Mode()&os.ModeSymlink != 0) {
		if !results.IsResultsFolder(name) {
			return "", fmt.Errorf("%w: %s is not a results folder of weir and is not removed; name a results folder (weir "+
				"results list)", command.ErrInput, name)
		}
		return filepath.Abs(name)
	}
	found, err := r.listMatches(a, name)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", r.noResults(a, name)
	case len(found) > 1:
		var dirs []string
		for _, s := range found {
			dirs = append(dirs, filepath.Base(s.Dir))
		}
		return "", fmt.Errorf("%w: %d results folders match %s; name one of them: %s", command.ErrInput, len(found), name,
			document.JoinLikely(name, dirs, fewNames))
	}
	return filepath.Abs(found[0].Dir)
}

type bundleCmd struct {
	folders
	Names []string       `arg:"" name:"name" help:"Results folders, or names of experiments that were run."`
	To    command.Target `required:"" placeholder:"FILE" help:"Archive to write (.tar.gz); it must not exist."`
}

// Run writes the folders into a new archive. The file appears when it is complete. An interrupt sets the exit code and
// is not an error.
func (b *bundleCmd) Run(a *app) error {
	signals := handleSignals(a.screen, grace{0, 0, cutNothing, "no files remain; the same command starts again"})
	defer signals.stop()
	dirs, err := b.findAll(a, b.Names)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(string(b.To)); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s exists already; name a new file", command.ErrInput, b.To)
	}
	f, err := atomicfile.Create(string(b.To))
	if err != nil {
		return results.WrapWriteError(string(b.To), err)
	}
	defer f.Discard()
	w := bufio.NewWriterSize(f, 1<<20)
	files, bytes, err := results.Bundle(signals, w, dirs)
	if errors.Is(err, context.Canceled) {
		a.code = command.Interrupted
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	err = w.Flush()
	size, _ := f.Seek(0, 1)
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return results.WrapWriteError(string(b.To), err)
	}
	fmt.Fprintf(a.stdout, "%s: %s with %s of %s, compressed to %s; weir results open unpacks it\n", b.To,
		text.Count(len(dirs), "folder"), text.Count(files, "file"), report.FormatBytes(bytes), report.FormatBytes(size))
	return nil
}

type openCmd struct {
	File string         `arg:"" help:"Archive of weir results bundle; -: standard input."`
	Into command.Target `default:"results" help:"Folder to unpack the results folders into."`
	Most string         `default:"20GB" placeholder:"SIZE" help:"Max size of all files together."`
}

// Run unpacks an archive into the folder --into, and rewrites the tables and the report of each folder. Results that
// cannot be read are an error. An interrupt sets the exit code and is not an error.
func (o *openCmd) Run(a *app) error {
	signals := handleSignals(a.screen, grace{0, 0, cutNothing, "no files remain; the same command starts again"})
	defer signals.stop()
	most, err := unit.ParseBytes(o.Most)
	if err != nil {
		return fmt.Errorf("%w: --most: %w", command.ErrInput, err)
	}
	in := os.Stdin
	if o.File != experiment.StandardInput {
		if in, _, err = document.Open(o.File); err != nil {
			return fmt.Errorf("%w: %s: %w", command.ErrInput, o.File, document.UnwrapPathError(err))
		}
		defer in.Close()
	}
	u := results.UnbundleOptions{Parent: string(o.Into), MaxBytes: int64(most)}
	names, err := results.Unbundle(signals, bufio.NewReaderSize(in, 1<<20), u, func(dir, name string) error {
		x, err := results.Open(a.registry, dir)
		if err == nil {
			if err = x.WriteTables(); err == nil {
				_, err = report.WriteReport(x, report.Page{Version: version()})
			}
		}
		if err != nil {
			by := ""
			if s := results.InspectFolder(dir); s != nil && s.Program != "" && s.Program != revision.This().String() {
				by = fmt.Sprintf(" (its program is %s)", s.Program)
			}
			return fmt.Errorf("%s: this version of weir cannot read the results%s: %s",
				name, by, strings.ReplaceAll(err.Error(), dir, name))
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		a.code = command.Interrupted
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", command.ErrInput, text.EscapeLine(o.File), err)
	}
	for _, name := range names {
		a.printFolder(results.InspectFolder(filepath.Join(string(o.Into), name)))
	}
	return nil
}
