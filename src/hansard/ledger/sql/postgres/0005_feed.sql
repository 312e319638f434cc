-- Many write at once here, and numbers are not given in the order of commits: appending feeds, as before.
select 1;
