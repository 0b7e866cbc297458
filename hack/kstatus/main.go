// Says what kstatus makes of Kubernetes objects: reads JSON objects from standard input, one after another, and writes
// for each a line of JSON with its verdict (Current, InProgress, Failed, …) and the message that goes with it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := judge(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(from io.Reader, to io.Writer) error {
	objects, verdicts := json.NewDecoder(from), json.NewEncoder(to)
	for {
		var raw json.RawMessage
		if err := objects.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the input is not JSON: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil { // whole numbers stay whole, as kstatus wants them
			return fmt.Errorf("not an object of Kubernetes: %w", err)
		}
		result, err := status.Compute(object)
		if err != nil {
			return fmt.Errorf("kstatus has no verdict: %w", err)
		}
		if err := verdicts.Encode(verdict{Status: result.Status.String(), Message: result.Message}); err != nil {
			return err
		}
	}
}
