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
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints what a shell reads to complete words of this program, which it asks for them.
func (c *completionCmd) Run(a *app) error {
	fmt.Fprint(a.stdout, strings.ReplaceAll(completions[c.Shell], "WEIR", revision.Name()))
	return nil
}

// completions are the scripts of shells. Each hands the words before the cursor to the program, the last as far as it
// is written, and leaves files to the shell where the program says so.
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

// completeCmd answers shells.
type completeCmd struct {
	Line string `arg:"" optional:"" help:"The command line up to the cursor."`
}

// Run prints what can stand in place of the last word, one a line, with a tabulator and its meaning, and :files where
// the shell has to add names of files.
func (c *completeCmd) Run(a *app, ctx *kong.Context) error {
	words := strings.Fields(c.Line)
	if c.Line == "" || strings.HasSuffix(c.Line, " ") {
		words = append(words, "")
	}
	if len(words) < 2 {
		return nil
	}
	x := &completer{a: a, node: ctx.Model.Node, last: words[len(words)-1]}
	x.follow(words[1 : len(words)-1])
	for _, w := range x.answer() {
		fmt.Fprintln(a.stdout, w)
	}
	return nil
}

// completer goes through the words of a command line.
type completer struct {
	a       *app
	node    *kong.Node // the command so far
	args    int        // positional arguments so far
	pending *kong.Flag // whose value is the next word
	only    bool       // behind --: no flags
	last    string
}

// follow takes the words before the last.
func (x *completer) follow(words []string) {
	for _, w := range words {
		switch {
		case x.pending != nil:
			x.pending = nil
		case w == "--":
			x.only = true
		case strings.HasPrefix(w, "-") && !x.only && w != "-":
			if name, _, joined := strings.Cut(w, "="); !joined {
				if f := x.flag(name); f != nil && !f.IsBool() {
					x.pending = f
				}
			}
		default:
			if c := x.child(w); c != nil {
				x.node = c
			} else {
				x.args++
			}
		}
	}
}

func (x *completer) child(name string) *kong.Node {
	if i := slices.IndexFunc(x.node.Children, func(c *kong.Node) bool { return c.Name == name }); i >= 0 {
		return x.node.Children[i]
	}
	return nil
}

// taking is the command that takes arguments: of one with a default, that.
func (x *completer) taking() *kong.Node {
	if x.node.DefaultCmd != nil {
		return x.node.DefaultCmd
	}
	return x.node
}

// flags are those of the command in hand, and of those above it.
func (x *completer) flags() (all []*kong.Flag) {
	for _, group := range x.taking().AllFlags(true) {
		all = append(all, group...)
	}
	return all
}

func (x *completer) flag(word string) *kong.Flag {
	for _, f := range x.flags() {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// answer is what can stand in place of the last word.
func (x *completer) answer() []string {
	if x.pending != nil {
		return x.having("", x.values(x.pending.Value))
	}
	if name, _, joined := strings.Cut(x.last, "="); joined && strings.HasPrefix(x.last, "--") {
		if f := x.flag(name); f != nil && !f.IsBool() {
			return x.having(name+"=", x.values(f.Value))
		}
		return nil
	}
	var all []string
	if strings.HasPrefix(x.last, "-") && !x.only {
		for _, f := range x.flags() {
			all = append(all, "--"+f.Name+"\t"+oneSentence(f.Help))
		}
		return x.having("", all)
	}
	for _, c := range x.node.Children {
		if !c.Hidden {
			all = append(all, c.Name+"\t"+oneSentence(c.Help))
		}
	}
	if args := x.taking().Positional; len(args) > 0 {
		v := args[min(x.args, len(args)-1)]
		if x.args < len(args) || v.IsCumulative() {
			all = append(all, x.values(v)...)
		}
	}
	return x.having("", all)
}

// having leaves what begins as the last word does, behind a prefix that it has.
func (x *completer) having(prefix string, all []string) (out []string) {
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

// filesToo has the shell add names of files.
const filesToo = ":files"

// values are what an argument or the value of a flag can be.
func (x *completer) values(v *kong.Value) []string {
	if words := v.EnumSlice(); len(words) > 0 && v.Enum != "" {
		return words
	}
	if v.Target.Type() == reflect.TypeFor[command.Target]() {
		return []string{filesToo}
	}
	switch kind := x.taking().Name + " " + v.Name; kind {
	case "show name":
		return append(x.experiments(), append(x.listed(), filesToo)...)
	case "check name", "run name", "slurm name":
		return append(x.experiments(), filesToo)
	case "report dir", "diff a", "diff b", "results dir", "bundle name", "remove name", "list name", "merge dir",
		"plot dir":
		return append(x.results(), filesToo)
	case "help command":
		var names []string
		for _, c := range x.root().Children {
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
		return x.formats()
	}
	if v.Target.Kind() == reflect.String || v.Target.Kind() == reflect.Slice {
		return []string{filesToo}
	}
	return nil
}

func (x *completer) root() *kong.Node {
	n := x.node
	for n.Parent != nil {
		n = n.Parent
	}
	return n
}

func (x *completer) experiments() (names []string) {
	for _, e := range x.a.registry.Experiments() {
		names = append(names, e.Name+"\t"+oneSentence(e.Title))
	}
	return names
}

// listed returns the names that weir show knows, each once, besides experiments.
func (x *completer) listed() (names []string) {
	known := map[string]bool{}
	for _, n := range x.a.listed() {
		if !known[n.name] {
			names = append(names, n.name+"\t"+n.kind+": "+oneSentence(n.doc))
		}
		known[n.name] = true
	}
	return names
}

// formats are those of weir import or weir export.
func (x *completer) formats() (names []string) {
	if x.taking().Name == "import" {
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

// results are the experiments with results in the usual folder, and the folders there.
func (x *completer) results() (names []string) {
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

// oneSentence is a text as a list of choices has it.
func oneSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if at := strings.Index(s, ". "); at > 0 {
		s = s[:at]
	}
	return strings.TrimSuffix(s, ".")
}
