// Says whether an API server takes CustomResourceDefinitions: runs the server's own validation on each file that is named.
// Which server is up to the versions that this program is built with. Writes one line per file, and a line per mistake.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

func main() {
	refused := false
	for _, file := range os.Args[1:] {
		mistakes := check(file)
		fmt.Printf("%s: %s\n", file, map[bool]string{true: "taken", false: "REFUSED"}[len(mistakes) == 0])
		for _, mistake := range mistakes {
			fmt.Printf("  %s\n", mistake)
		}
		refused = refused || len(mistakes) > 0
	}
	if refused {
		os.Exit(1)
	}
}

func check(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return []string{err.Error()}
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	object, err := runtime.Decode(codecs.UniversalDecoder(apiextensions.SchemeGroupVersion), text) // with defaults
	if err != nil {
		return []string{err.Error()}
	}
	definition, is := object.(*apiextensions.CustomResourceDefinition)
	if !is {
		return []string{"is not a CustomResourceDefinition"}
	}
	var mistakes []string
	for _, mistake := range validation.ValidateCustomResourceDefinition(context.Background(), definition) {
		mistakes = append(mistakes, mistake.Error())
	}
	return mistakes
}
