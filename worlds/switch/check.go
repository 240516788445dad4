package softswitch

import (
	"errors"
	"fmt"

	"weir/internal/document"
)

// ErrSetup is wrapped by errors about the switch's environment: missing privileges, a missing interface, or one
// used by another switch.
var ErrSetup = errors.New("the switch cannot start")

// SetupError returns an error that wraps ErrSetup.
func SetupError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSetup, fmt.Sprintf(format, args...))
}

// ReadFile reads a switch's file of up to document.MaxFile bytes. Errors wrap ErrSetup.
func ReadFile(name string) ([]byte, error) {
	data, err := document.ReadFile(name, document.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSetup, name, document.UnwrapPathError(err))
	}
	return data, nil
}
