package cli

import (
	"cmp"
	"reflect"
	"testing"

	"weir/internal/command"
)

// TestSmallProgramsFlags checks that weir-switch and weir-agent name their flags as weir switch and weir agent do.
func TestSmallProgramsFlags(t *testing.T) {
	var c commandLine
	parser, err := newParser(Registry(), &c)
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]map[string]bool{}
	for _, child := range parser.Model.Children {
		flags[child.Name] = map[string]bool{}
		for _, flag := range child.Flags {
			flags[child.Name][flag.Name] = true
		}
	}
	for name, of := range map[string]reflect.Type{
		"switch": reflect.TypeFor[command.SwitchFlags](), "agent": reflect.TypeFor[command.AgentFlags](),
	} {
		if of.NumField() != len(flags[name]) {
			t.Errorf("%s has %d flags, not %d", name, len(flags[name]), of.NumField())
		}
		for field := range of.Fields() {
			if flag := cmp.Or(field.Tag.Get("name"), command.FlagName(field.Name)); !flags[name][flag] {
				t.Errorf("weir %s has no --%s", name, flag)
			}
		}
	}
}
