package cli

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"

	"weir/internal/command"
	"weir/internal/revision"
	"weir/study/results"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell to print the script for: bash, zsh or fish."`
}

// Run prints the completion script of a shell. The script calls this program for completions.
func (c *completionCmd) Run(a *app) error {
	fmt.Fprint(a.stdout, strings.ReplaceAll(completions[c.Shell], "WEIR", revision.Name()))
	return nil
}

// completions are the scripts of the shells. Each passes the words before the cursor to the program, the last one
// incomplete, and completes file names itself if the program requests it.
var completions = map[string]string{
	"bash": `# bash completion of WEIR: put this into ~/.bashrc, or a file of it into /etc/bash_completion.d
#     source <(WEIR completion bash)
_WEIR() {
    local line word found=() files=
    while IFS= read -r line; do
        if [ "$line" = :files ]; then files=1; else found+=("${line%%$'\t'*}"); fi
    done < <("${COMP_WORDS[0]}" complete -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    COMPREPLY=()
    word=${COMP_WORDS[COMP_CWORD]}
    local whole=${COMP_LINE:0:COMP_POINT}; whole=${whole##*[[:space:]]}
    local before=${whole%"$word"} # what bash takes for words of their own: --set= of --set=key
    for line in "${found[@]}"; do COMPREPLY+=("${line#"$before"}"); done
    if [ -n "$files" ]; then
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
    fi
    if [ ${#COMPREPLY[@]} -eq 1 ] && [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _WEIR WEIR
`,
	"zsh": `#compdef WEIR
# zsh completion of WEIR: a file _WEIR of this in a folder of $fpath, or in ~/.zshrc
#     source <(WEIR completion zsh)
_WEIR() {
    local -a lines found shown
    local line files
    lines=("${(@f)$(${words[1]} complete -- "${(j: :)${(@)words[1,CURRENT]}}" 2>/dev/null)}")
    for line in $lines; do
        if [[ $line == :files ]]; then files=1; continue; fi
        [[ -n $line ]] || continue
        found+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    (( $#found )) && compadd -l -d shown -a found
    [[ -n $files ]] && _files
    return 0
}
if [ "$funcstack[1]" = _WEIR ]; then _WEIR "$@"; else compdef _WEIR WEIR; fi
`,
	"fish": `# fish completion of WEIR: a file of this in ~/.config/fish/completions/WEIR.fish, or
#     WEIR completion fish | source
function __WEIR_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for line in ($words[1] complete -- (string join " " -- $words $last) 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path $last
        else
            echo $line
        end
    end
end
complete -c WEIR -f -a '(__WEIR_complete)'
`,
}

// completeCmd prints completions for a shell.
type completeCmd struct {
	Line string `arg:"" optional:"" help:"The command line up to the cursor."`
}

// Run prints the completions of the last word, one per line with a tab and the meaning. The line :files makes the
// shell add file names.
func (c *completeCmd) Run(a *app, ctx *kong.Context) error {
	words := strings.Fields(c.Line)
	if c.Line == "" || strings.HasSuffix(c.Line, " ") {
		words = append(words, "")
	}
	if len(words) < 2 {
		return nil
	}
	x := &completer{a: a, node: ctx.Model.Node, last: words[len(words)-1]}
	x.parseWords(words[1 : len(words)-1])
	for _, w := range x.complete() {
		fmt.Fprintln(a.stdout, w)
	}
	return nil
}

// completer processes the words of a command line.
type completer struct {
	a       *app
	node    *kong.Node // command so far
	args    int        // number of positional arguments so far
	pending *kong.Flag // flag that takes the next word as its value
	noFlags bool       // after --: no flags
	last    string
}

// parseWords processes the words before the last one, without the program's name. It sets node, args, pending and
// noFlags.
func (x *completer) parseWords(words []string) {
	for _, w := range words {
		switch {
		case x.pending != nil:
			x.pending = nil
		case w == "--":
			x.noFlags = true
		case strings.HasPrefix(w, "-") && !x.noFlags && w != "-":
			if name, _, joined := strings.Cut(w, "="); !joined {
				if f := x.findFlag(name); f != nil && !f.IsBool() {
					x.pending = f
				}
			}
		default:
			if c := x.findCommand(w); c != nil {
				x.node = c
			} else {
				x.args++
			}
		}
	}
}

// findCommand returns the subcommand with the given name, or nil.
func (x *completer) findCommand(name string) *kong.Node {
	if i := slices.IndexFunc(x.node.Children, func(c *kong.Node) bool { return c.Name == name }); i >= 0 {
		return x.node.Children[i]
	}
	return nil
}

// targetCommand returns the command that takes the arguments: the default subcommand, if there is one.
func (x *completer) targetCommand() *kong.Node {
	if x.node.DefaultCmd != nil {
		return x.node.DefaultCmd
	}
	return x.node
}

// listFlags returns the flags of the current command and of those above it.
func (x *completer) listFlags() (all []*kong.Flag) {
	for _, group := range x.targetCommand().AllFlags(true) {
		all = append(all, group...)
	}
	return all
}

// findFlag returns the flag with the given name, including its hyphens, or nil.
func (x *completer) findFlag(word string) *kong.Flag {
	for _, f := range x.listFlags() {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// complete returns the completions of the last word.
func (x *completer) complete() []string {
	if x.pending != nil {
		return x.matchPrefix("", x.listValues(x.pending.Value))
	}
	if name, _, joined := strings.Cut(x.last, "="); joined && strings.HasPrefix(x.last, "--") {
		if f := x.findFlag(name); f != nil && !f.IsBool() {
			return x.matchPrefix(name+"=", x.listValues(f.Value))
		}
		return nil
	}
	var all []string
	if strings.HasPrefix(x.last, "-") && !x.noFlags {
		for _, f := range x.listFlags() {
			all = append(all, "--"+f.Name+"\t"+oneSentence(f.Help))
		}
		return x.matchPrefix("", all)
	}
	for _, c := range x.node.Children {
		if !c.Hidden {
			all = append(all, c.Name+"\t"+oneSentence(c.Help))
		}
	}
	if args := x.targetCommand().Positional; len(args) > 0 {
		v := args[min(x.args, len(args)-1)]
		if x.args < len(args) || v.IsCumulative() {
			all = append(all, x.listValues(v)...)
		}
	}
	return x.matchPrefix("", all)
}

// matchPrefix returns the words that begin with the last word when prefix is put before them, each with the prefix. It
// keeps filesToo.
func (x *completer) matchPrefix(prefix string, all []string) (out []string) {
	for _, w := range all {
		if w == filesToo || strings.HasPrefix(prefix+w, x.last) {
			if w != filesToo {
				w = prefix + w
			}
			out = append(out, w)
		}
	}
	return out
}

// filesToo makes the shell add file names.
const filesToo = ":files"

// listValues returns the possible values of an argument or a flag: its words, names of its kind, or filesToo.
func (x *completer) listValues(v *kong.Value) []string {
	if words := v.EnumSlice(); len(words) > 0 && v.Enum != "" {
		return words
	}
	if v.Target.Type() == reflect.TypeFor[command.Target]() {
		return []string{filesToo}
	}
	switch kind := x.targetCommand().Name + " " + v.Name; kind {
	case "show name":
		return append(x.listExperiments(), append(x.listNames(), filesToo)...)
	case "check name", "run name", "slurm name":
		return append(x.listExperiments(), filesToo)
	case "report dir", "diff a", "diff b", "results dir", "bundle name", "remove name", "list name", "merge dir",
		"plot dir":
		return append(x.listResults(), filesToo)
	case "help command":
		var names []string
		for _, c := range x.rootCommand().Children {
			if !c.Hidden {
				names = append(names, c.Name)
			}
		}
		return names
	}
	if v.Name == "set" {
		return []string{"duration=", "repeat=", "seed=", "warmup="}
	}
	if v.Name == "format" {
		return x.listFormats()
	}
	if v.Target.Kind() == reflect.String || v.Target.Kind() == reflect.Slice {
		return []string{filesToo}
	}
	return nil
}

// rootCommand returns the node of the program.
func (x *completer) rootCommand() *kong.Node {
	n := x.node
	for n.Parent != nil {
		n = n.Parent
	}
	return n
}

// listExperiments returns the experiments of the library with their titles.
func (x *completer) listExperiments() (names []string) {
	for _, e := range x.a.registry.Experiments() {
		names = append(names, e.Name+"\t"+oneSentence(e.Title))
	}
	return names
}

// listNames returns the names that weir show accepts besides experiments, each once.
func (x *completer) listNames() (names []string) {
	known := map[string]bool{}
	for _, n := range x.a.listNames() {
		if !known[n.name] {
			names = append(names, n.name+"\t"+n.kind+": "+oneSentence(n.doc))
		}
		known[n.name] = true
	}
	return names
}

// listFormats returns the formats of weir import or weir export.
func (x *completer) listFormats() (names []string) {
	if x.targetCommand().Name == "import" {
		for _, f := range x.a.registry.Imports {
			names = append(names, f.Name+"\t"+oneSentence(f.Doc))
		}
		return names
	}
	for _, f := range x.a.registry.Formats {
		names = append(names, f.Name+"\t"+oneSentence(f.Doc))
	}
	return names
}

// listResults returns the experiments with results in the default folder, and their folders.
func (x *completer) listResults() (names []string) {
	all, _ := results.ListFolders("results")
	for _, s := range all {
		names = append(names, s.Name+"\t"+oneSentence(s.Options), filepath.Join("results", filepath.Base(s.Dir))+"\t"+
			oneSentence(s.Name+" "+s.Options))
	}
	sort.Strings(names)
	return slices.CompactFunc(names, func(a, b string) bool {
		first, _, _ := strings.Cut(a, "\t")
		second, _, _ := strings.Cut(b, "\t")
		return first == second
	})
}

// oneSentence returns the first sentence of a text on one line, without its period.
func oneSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if at := strings.Index(s, ". "); at > 0 {
		s = s[:at]
	}
	return strings.TrimSuffix(s, ".")
}
