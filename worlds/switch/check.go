package softswitch

import (
	"errors"
	"fmt"

	"weir/internal/document"
)

// ErrSetup is wrapped by errors about what the switch is to run on: no right, no such
// interface, one that another switch has.
var ErrSetup = errors.New("the switch cannot start")

// SetupError returns an error about what the switch is to run on.
func SetupError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSetup, fmt.Sprintf(format, args...))
}

// ReadFile reads a switch's file.
func ReadFile(name string) ([]byte, error) {
	data, err := document.ReadFile(name, document.LargestFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSetup, name, document.Reason(err))
	}
	return data, nil
}
