# The bucket is named when terraform is initialised: `make deploy` makes it.
terraform {
  backend "gcs" {}
}
