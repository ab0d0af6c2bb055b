// Draws a region as a picture of the output.
#ifndef LEMMA_PET_REGIONS_PICTURE_H_
#define LEMMA_PET_REGIONS_PICTURE_H_

#include <string>

#include "pet/regions/region.h"

namespace lemma::pet {

// Draws the last two dimensions as a grid: '#' where the graphs differ, '.' where they agree. Each
// distinct grid is drawn once, under a line with the indices of the other dimensions, such as "at
// [0:4:2, *]:" (* stands for all indices). Grids are cut at 100 columns and rows; a line says so.
std::string TextPicture(const Region& region);

// The same grids as an SVG image, in which no line says that grids are cut.
std::string SvgPicture(const Region& region);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_PICTURE_H_
