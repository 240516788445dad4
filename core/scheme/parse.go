package scheme

import (
	"fmt"
	"strconv"

	"weir/core/unit"
)

// Parse reads a value of kind k as an experiment file writes it, into the type that
// Values returns for that kind. Text stays as it is. A Map and a Names have no text of
// their own: their parts are read one by one.
func Parse(k Kind, text string) (any, error) {
	switch k {
	case Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	case Float:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0.0, fmt.Errorf("%q is not a number", text)
		}
		return x, nil
	case Bool:
		if text != "true" && text != "false" {
			return false, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	case Duration:
		return unit.ParseTime(text)
	case Rate:
		return unit.ParseRate(text)
	case LinkRate:
		if r, err := unit.ParseRate(text); err == nil && r == 0 {
			return unit.LinkRate{}, nil
		}
		return unit.ParseLinkRate(text)
	case Share:
		return unit.ParseShare(text)
	case Size:
		return unit.ParseBytes(text)
	case Packets:
		l, err := unit.ParseLength(text)
		if err == nil && l.Bytes > 0 {
			err = fmt.Errorf("%q is not a number of packets", text)
		}
		return int(l.Packets), err
	case Length:
		return unit.ParseLength(text)
	}
	return text, nil
}
