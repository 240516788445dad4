package document

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// The YAML library takes time and memory with the square of the nesting, of a map's keys, and of the values
// that are missing. So the tokens are looked at first.
const (
	deepest  = 50   // levels
	mostKeys = 4096 // a map
)

// parseable reports whether the library parses a file's tokens in proportion to their number, and else what is
// too many.
func (r *Reader) parseable(file string, tokens token.Tokens) bool {
	if tk := tooDeep(tokens); tk != nil {
		r.Fail(at(file, tk), fmt.Sprintf("%d levels", deepest), "the file is nested too deeply")
	} else if tk := tooMany(tokens); tk != nil {
		r.Fail(at(file, tk), fmt.Sprintf("up to %d", mostKeys), "the map has more than %d keys", mostKeys)
	} else if tk := tooEmpty(tokens); tk != nil {
		r.Fail(at(file, tk), "a value, or no key at all", "a value is missing, as %d are before", mostErrors)
	}
	return r.OK()
}

// tooDeep returns the first token that is nested deeper than deepest in brackets,
// braces and hyphens of one line, nil if there is none. Nesting by indentation costs
// its own square of characters.
func tooDeep(tokens token.Tokens) *token.Token {
	open, hyphens, line := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position != nil && tk.Position.Line != line {
			hyphens, line = 0, tk.Position.Line
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType:
			hyphens++
		}
		if open+hyphens > deepest {
			return tk
		}
	}
	return nil
}

// tooMany returns the key that is one too many in a map with a line a key, nil if there is none. Those in
// braces cost the library no square.
func tooMany(tokens token.Tokens) *token.Token {
	type column struct{ at, keys int }
	var maps []column // that are open, by their keys' column
	open, line := 0, 0
	for i, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		}
		if tk.Position == nil || open > 0 {
			continue
		}
		if tk.Position.Line != line {
			line = tk.Position.Line
			for len(maps) > 0 && maps[len(maps)-1].at > tk.Position.Column {
				maps = maps[:len(maps)-1]
			}
		}
		if tk.Type != token.MappingValueType || i == 0 || tokens[i-1].Position == nil {
			continue
		}
		key := tokens[i-1]
		if len(maps) == 0 || maps[len(maps)-1].at < key.Position.Column {
			maps = append(maps, column{at: key.Position.Column})
		}
		last := &maps[len(maps)-1]
		if last.keys++; last.keys > mostKeys {
			return key
		}
	}
	return nil
}

// tooEmpty returns the token whose value is one too many of those that are missing, nil if there is none.
func tooEmpty(tokens token.Tokens) *token.Token {
	var flows []flow
	missing, key := 0, (*token.Token)(nil)
	for i, tk := range tokens {
		if tk.Position == nil || tk.Type == token.CommentType {
			continue
		}
		next := following(tokens[i+1:])
		empty := false
		switch in := len(flows) - 1; {
		case tk.Type == token.SequenceStartType || tk.Type == token.MappingStartType:
			flows = append(flows, flow{braces: tk.Type == token.MappingStartType})
		case in >= 0 && (tk.Type == token.SequenceEndType || tk.Type == token.MappingEndType):
			empty = flows[in].empty()
			flows = flows[:in]
		case in >= 0 && tk.Type == token.CollectEntryType:
			empty = flows[in].empty()
			flows[in] = flow{braces: flows[in].braces}
		case in >= 0 && tk.Type == token.MappingValueType:
			flows[in].colon = true
			empty = next != nil && (next.Type == token.CollectEntryType || next.Type == token.MappingEndType)
		case in >= 0:
			flows[in].word = true
		case tk.Type == token.SequenceEntryType:
			empty = next == nil || next.Position.Line != tk.Position.Line && next.Position.Column <= tk.Position.Column
		case tk.Type == token.MappingValueType && key != nil:
			empty = next == nil || next.Position.Line != tk.Position.Line && (next.Position.Column < key.Position.Column ||
				next.Position.Column == key.Position.Column && next.Type != token.SequenceEntryType)
		}
		if empty {
			if missing++; missing > mostErrors {
				return tk
			}
		}
		key = tk
	}
	return nil
}

// flow is what stands so far in an entry of a map in braces, or of a list in brackets.
type flow struct{ braces, word, colon bool }

// empty reports whether the entry is a key without a value.
func (f flow) empty() bool { return f.braces && f.word && !f.colon }

// following is the next token that is no comment, nil at the end.
func following(tokens token.Tokens) *token.Token {
	for _, tk := range tokens {
		if tk.Position != nil && tk.Type != token.CommentType {
			return tk
		}
	}
	return nil
}
